package chat_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

// completion is an answer with one choice, whose message and reason these are.
func completion(model, message, reason string) string {
	return `{"id":"run-1","model":"` + model + `","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + reason + `"}],"usage":{}}`
}

// readBoth reads body by itself and as what a server has answered.
func readBoth(t *testing.T, body string, change func(c *chat.Config)) (provider.Reply, error) {
	t.Helper()
	s := serve(t, says(http.StatusOK, body))
	p := s.provider(change)
	read, err := p.Read([]byte(body))
	called, callErr := p.Call(t.Context(), request("{}"))
	require.Equal(t, read, called)
	require.Equal(t, err, callErr)
	if err != nil {
		require.NotContains(t, err.Error(), canary)
	}
	return read, err
}

func none(*chat.Config) {}

func TestWhatIsAnAnswer(t *testing.T) {
	t.Parallel()
	done := func(output string) provider.Reply {
		return provider.Reply{Verdict: provider.Done, Output: []byte(output), Model: "large-2", Ref: "run-1"}
	}
	cut, other := done("hal"), done("ok")
	cut.Cut, other.Model = true, "small-1"
	aliased := func(c *chat.Config) { c.Aliases = []string{"large-2-0613", "large"} }
	for name, row := range map[string]struct {
		body string
		set  func(c *chat.Config)
		want provider.Reply
	}{
		"content":         {completion("large-2", `{"role":"assistant","content":"{\"a\":1}"}`, "stop"), none, done(`{"a":1}`)},
		"empty content":   {completion("large-2", `{"content":""}`, "stop"), none, done("")},
		"no refusal":      {completion("large-2", `{"content":"ok","refusal":null}`, "stop"), none, done("ok")},
		"another reason":  {completion("large-2", `{"content":"ok"}`, "eos"), none, done("ok")},
		"length":          {completion("large-2", `{"content":"hal"}`, "length"), none, cut},
		"alias":           {completion("large-2-0613", `{"content":"ok"}`, "stop"), aliased, done("ok")},
		"second alias":    {completion("large", `{"content":"ok"}`, "stop"), aliased, done("ok")},
		"other model":     {completion("small-1", `{"content":"ok"}`, "stop"), aliased, other},
		"unknown fields":  {strings.Replace(hello, `{"id"`, `{"x":{"y":[1]},"id"`, 1), none, done("hello")},
		"space around it": {"\n " + hello + "\r\n", none, done("hello")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := readBoth(t, row.body, row.set)
			require.NoError(t, err)
			require.Equal(t, row.want, reply)
		})
	}
}

func TestARefusalIsTheAnswerUnlessTheHostSaysOtherwise(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ message, reason, want string }{
		"refusal":                 {`{"content":null,"refusal":"I \"cannot\" canary"}`, "stop", `{"refusal":"I \"cannot\" canary"}`},
		"refusal beside content":  {`{"content":"canary","refusal":"no"}`, "stop", `{"refusal":"no"}`},
		"content filter":          {`{"content":"the begi canary"}`, "content_filter", `{"refusal":""}`},
		"content filter, nothing": {`{"content":null}`, "content_filter", `{"refusal":""}`},
		"both":                    {`{"content":null,"refusal":"no"}`, "content_filter", `{"refusal":"no"}`},
		"refusal that was cut":    {`{"content":null,"refusal":"I can"}`, "length", `{"refusal":"I can"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := completion("large-2", row.message, row.reason)
			reply, err := readBoth(t, body, none)
			require.NoError(t, err)
			require.JSONEq(t, row.want, string(reply.Output))
			reply.Output = nil
			require.Equal(t, provider.Reply{Verdict: provider.Done, Refusal: true, Model: "large-2", Ref: "run-1"}, reply)

			reply, err = readBoth(t, body, func(c *chat.Config) { c.RefusalFails = true })
			require.Error(t, err)
			require.Equal(t, provider.Reply{Verdict: provider.Failed, Model: "large-2", Ref: "run-1"}, reply)
		})
	}
}

// The server has done its work, and there will be no other answer.
func TestAnAnswerWithoutAnOutputHasFailed(t *testing.T) {
	t.Parallel()
	choice := `{"message":{"content":"canary"},"finish_reason":"stop"}`
	for name, row := range map[string]struct{ body, model string }{
		"no model":     {`{"id":"run-1","choices":[` + choice + `]}`, ""},
		"empty model":  {`{"id":"run-1","model":"","choices":[` + choice + `]}`, ""},
		"null content": {completion("large-2", `{"content":null}`, "stop"), "large-2"},
		"no content":   {completion("large-2", `{"tool_calls":[{"canary":1}]}`, "tool_calls"), "large-2"},
		"no message":   {`{"id":"run-1","model":"large-2","choices":[{"finish_reason":"stop"}]}`, "large-2"},
		"other model":  {completion("small-1", `{"content":null}`, "stop"), "small-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := readBoth(t, row.body, none)
			require.Error(t, err)
			require.Equal(t, provider.Reply{Verdict: provider.Failed, Model: row.model, Ref: "run-1"}, reply)
		})
	}
}

// The server may still work on it, or somebody else has answered.
func TestWhatHasNotEndedIsADoubt(t *testing.T) {
	t.Parallel()
	const choice = `{"message":{"content":"canary"},"finish_reason":"stop"}`
	of := func(choices string) string { return `{"id":"run-1","model":"large-2","choices":` + choices + `}` }
	for name, row := range map[string]struct{ body, ref string }{
		"in progress":               {`{"id":"run-1","model":"large-2","status":"in_progress","choices":[]}`, "run-1"},
		"no choices":                {`{"id":"run-1","model":"large-2"}`, "run-1"},
		"null choices":              {of(`null`), "run-1"},
		"zero choices":              {of(`[]`), "run-1"},
		"two choices":               {of(`[` + choice + `,` + choice + `]`), "run-1"},
		"null choice":               {of(`[null]`), "run-1"},
		"empty reason":              {completion("large-2", `{"content":"canary"}`, ""), "run-1"},
		"null reason":               {of(`[{"message":{"content":"canary"},"finish_reason":null}]`), "run-1"},
		"no reason":                 {of(`[{"message":{"content":"canary"}}]`), "run-1"},
		"no reason, null content":   {of(`[{"message":{"content":null}}]`), "run-1"},
		"no reason, refusal":        {of(`[{"message":{"content":null,"refusal":"canary"}}]`), "run-1"},
		"no reason, no model":       {`{"id":"run-1","choices":[{"message":{"content":"canary"}}]}`, "run-1"},
		"no choices, no model":      {`{"id":"run-1"}`, "run-1"},
		"no choices, no handle":     {`{"model":"large-2","choices":[]}`, ""},
		"nothing in it":             {`{}`, ""},
		"null":                      {`null`, ""},
		"an error behind a gateway": {`{"error":{"message":"canary"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, fails := range []bool{false, true} {
				reply, err := readBoth(t, row.body, func(c *chat.Config) { c.RefusalFails = fails })
				require.EqualError(t, err, notEnded)
				require.Equal(t, provider.Reply{Verdict: provider.Unknown, Ref: row.ref}, reply)
			}
		})
	}
}

const notEnded = "the answer is no chat completion that has ended"

// Another 2xx says that something was accepted or made, not that this is all.
func TestAnAnswerComesWith200Alone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 202, 203, 204, 205, 206, 207, 299} {
		for body, ref := range map[string]string{hello: "run-1", "": "", `{"id":"run-1","status":"queued"}`: "run-1"} {
			if status == http.StatusNoContent || status == http.StatusResetContent {
				body, ref = "", "" // net/http sends none
			}
			s := serve(t, says(status, body))
			reply, err := s.provider().Call(t.Context(), request("{}"))
			require.EqualError(t, err, notEnded, "%d", status)
			require.Equal(t, provider.Reply{Verdict: provider.Unknown, Ref: ref}, reply, "%d", status)
			s.one()
		}
	}
}

// It may be the beginning of an answer, or a proxy's page: nobody knows what the
// server did.
func TestWhatIsNoJSONIsADoubt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing":       "",
		"space":         " \n",
		"a page":        "<html>canary</html>",
		"a beginning":   hello[:len(hello)-1],
		"two answers":   hello + hello,
		"prose after":   hello + " canary",
		"a stream":      "data: " + hello + "\n\ndata: [DONE]\n\n",
		"a list":        `["canary"]`,
		"a number":      `7`,
		"a wrong type":  strings.Replace(hello, `"hello"`, `["canary"]`, 1),
		"another model": `{"model":{"canary":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := readBoth(t, body, none)
			require.Error(t, err)
			require.Equal(t, provider.Reply{}, reply)
		})
	}
}
