package chat_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
	"github.com/onejob-go/onejob/provider/wire"
)

func TestWhatIsSentIsWhatWasSet(t *testing.T) {
	t.Parallel()
	const plain = `"model":"large-2","messages":[{"role":"user","content":"{\"a\":1}"}]`
	for name, row := range map[string]struct {
		set         func(c *chat.Config)
		want, fresh string // beside plain; fresh is the same but for temperature
	}{
		"nothing more": {func(*chat.Config) {}, ``, `,"temperature":0`},
		"room":         {func(c *chat.Config) { c.MaxTokens = 9 }, `,"max_completion_tokens":9`, `,"max_completion_tokens":9,"temperature":0`},
		"room, legacy": {func(c *chat.Config) { c.MaxTokens, c.LegacyMaxTokens = 9, true }, `,"max_tokens":9`, `,"max_tokens":9,"temperature":0`},
		"no room":      {func(c *chat.Config) { c.LegacyMaxTokens = true }, ``, `,"temperature":0`},
		"temperature":  {func(c *chat.Config) { c.Temperature = ptr(0.7) }, `,"temperature":0.7`, `,"temperature":0.7`},
		"cold":         {func(c *chat.Config) { c.Temperature = ptr(0.0) }, `,"temperature":0`, `,"temperature":0`},
		"format": {
			func(c *chat.Config) { c.ResponseFormat = json.RawMessage(`{"type":"json_object"}`) },
			`,"response_format":{"type":"json_object"}`, `,"response_format":{"type":"json_object"},"temperature":0`,
		},
		"extra": {
			func(c *chat.Config) {
				c.Extra = map[string]any{"seed": 7, "reasoning": map[string]any{"effort": "low"}}
			},
			`,"seed":7,"reasoning":{"effort":"low"}`, `,"seed":7,"reasoning":{"effort":"low"},"temperature":0`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []provider.Request{request(`{"a":1}`), fresh(`{"a":1}`)} {
				s := serve(t, says(http.StatusOK, hello))
				reply, err := s.provider(row.set).Call(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, provider.Reply{Verdict: provider.Done, Output: []byte("hello"), Model: "large-2", Ref: "run-1"}, reply)
				more := row.want
				if r.Fresh {
					more = row.fresh
				}
				got := s.one()
				require.Equal(t, http.MethodPost, got.method)
				require.Equal(t, "/v1/chat/completions", got.path)
				require.JSONEq(t, "{"+plain+more+"}", got.body)
				require.Equal(t, "application/json", got.header.Get("Content-Type"))
				require.Equal(t, "application/json", got.header.Get("Accept"))
			}
		})
	}
}

func TestTheSystemPromptComesFirst(t *testing.T) {
	t.Parallel()
	s := serve(t, says(http.StatusOK, hello))
	p := s.provider(func(c *chat.Config) {
		c.System = "Be brief."
		c.Revision, c.Messages = "1", func(params []byte) ([]provider.Message, error) {
			return []provider.Message{{Role: "assistant", Content: "42"}, {Role: "user", Content: "more of " + string(params)}}, nil
		}
	})
	_, err := p.Call(t.Context(), request("this"))
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"large-2","messages":[
		{"role":"system","content":"Be brief."},
		{"role":"assistant","content":"42"},
		{"role":"user","content":"more of this"}]}`, s.one().body)
}

func TestHeadersAreSentOnlyWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	all := func(c *chat.Config) {
		c.KeyHeader = "Idempotency-Key"
		c.FreshHeader = http.Header{"x-no-cache": {"1", "2"}, "cache-control": {"max-age=9"}}
		c.Authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer token-1"); return nil }
	}
	none := func(*chat.Config) {}
	keyless := request("{}")
	keyless.Attempt.ProviderKey = ""
	const key = "0123456789abcdef0123456789abcdef"
	for name, row := range map[string]struct {
		set  func(c *chat.Config)
		r    provider.Request
		want map[string][]string
	}{
		"none":        {none, request("{}"), map[string][]string{}},
		"none, fresh": {none, fresh("{}"), map[string][]string{"Cache-Control": {"no-store"}}},
		"all": {all, request("{}"), map[string][]string{
			"Idempotency-Key": {key}, "Authorization": {"Bearer token-1"},
		}},
		"all, fresh": {all, fresh("{}"), map[string][]string{
			"Idempotency-Key": {key}, "Authorization": {"Bearer token-1"},
			"X-No-Cache": {"1", "2"}, "Cache-Control": {"no-store"},
		}},
		"all, no key": {all, keyless, map[string][]string{"Authorization": {"Bearer token-1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(http.StatusOK, hello))
			_, err := s.provider(row.set).Call(t.Context(), row.r)
			require.NoError(t, err)
			got := s.one().header
			for _, common := range []string{"Content-Type", "Content-Length", "Accept", "Accept-Encoding", "User-Agent"} {
				require.Len(t, got[common], 1, common)
				delete(got, common)
			}
			require.Equal(t, http.Header(row.want), got)
		})
	}
}

func TestAuthorizeSeesEachRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, says(http.StatusOK, hello))
	times := 0
	p := s.provider(func(c *chat.Config) {
		c.Authorize = func(r *http.Request) error {
			times++
			r.Header.Set("Authorization", []string{"", "Bearer first", "Bearer second"}[times])
			return nil
		}
	})
	for range 2 {
		_, err := p.Call(t.Context(), request("{}"))
		require.NoError(t, err)
	}
	list := s.seen()
	require.Equal(t, "Bearer first", list[0].header.Get("Authorization"))
	require.Equal(t, "Bearer second", list[1].header.Get("Authorization"))
}

// What cannot be sent has done nothing, and what is kept of it quotes neither
// params nor token.
func TestWhatCannotBeSentHasNotStarted(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(c *chat.Config){
		"no messages": func(c *chat.Config) {
			c.Revision, c.Messages = "1", func(params []byte) ([]provider.Message, error) { return nil, errors.New("bad: " + string(params)) }
		},
		"no token": func(c *chat.Config) {
			c.Authorize = func(*http.Request) error { return errors.New("the token " + canary + " is over") }
		},
		"a token that ends in a newline": func(c *chat.Config) {
			c.Authorize = func(r *http.Request) error { r.Header.Set("Authorization", "Bearer "+canary+"\n"); return nil }
		},
		"a key header that is none": func(c *chat.Config) { c.KeyHeader = "Idempotency Key" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says(http.StatusOK, hello))
			reply, err := s.provider(spoil).Call(t.Context(), request(canary))
			require.Error(t, err)
			require.NotContains(t, err.Error(), canary)
			require.Empty(t, s.seen())
			require.Equal(t, provider.Reply{Verdict: provider.NotStarted}, reply, "%v", err)
		})
	}
}

func TestTheStatusesBeforeAnyWorkAreNotStarted(t *testing.T) {
	t.Parallel()
	const notStarted, unknown = provider.NotStarted, provider.Unknown
	for status, want := range map[int][2]provider.Verdict{ // plain, and where 503 and 529 are declared
		400: {notStarted, notStarted}, 401: {notStarted, notStarted}, 402: {notStarted, notStarted},
		403: {notStarted, notStarted}, 404: {notStarted, notStarted}, 405: {notStarted, notStarted},
		413: {notStarted, notStarted}, 415: {notStarted, notStarted}, 422: {notStarted, notStarted},
		429: {notStarted, notStarted},
		408: {unknown, unknown}, 409: {unknown, unknown}, 500: {unknown, unknown}, 502: {unknown, unknown},
		503: {unknown, notStarted}, 529: {unknown, notStarted},
	} {
		for i, declared := range [][]int{nil, {503, 529}} {
			s := serve(t, says(status, `{"error":{"message":"`+canary+`","param":"`+canary+`"}}`))
			p := s.provider(func(c *chat.Config) { c.BeforeWork = declared })
			reply, err := p.Call(t.Context(), request("{}"))
			require.Equal(t, provider.Reply{Verdict: want[i]}, reply, "%d", status)
			require.Error(t, err)
			require.NotContains(t, err.Error(), canary)
			s.one()
		}
	}
}

// Some servers send 400 for what they have generated: only one that names a
// parameter has looked at the request alone.
func TestABadRequestThatNamesNoParameterIsADoubtUnlessTheHostSaysOtherwise(t *testing.T) {
	t.Parallel()
	const notStarted, unknown = provider.NotStarted, provider.Unknown
	for name, row := range map[string]struct {
		body string
		want provider.Verdict
	}{
		"a parameter":          {`{"error":{"message":"canary","param":"messages"}}`, notStarted},
		"no body":              {``, unknown},
		"no JSON":              {`<html>canary</html>`, unknown},
		"a beginning":          {`{"error":{"message":"canary","param":"messages"}`, unknown},
		"a list":               {`["canary"]`, unknown},
		"nothing in it":        {`{}`, unknown},
		"no error":             {`{"param":"messages"}`, unknown},
		"null error":           {`{"error":null}`, unknown},
		"an error of text":     {`{"error":"canary"}`, unknown},
		"no parameter":         {`{"error":{"message":"canary","code":"json_validate_failed"}}`, unknown},
		"null parameter":       {`{"error":{"message":"canary","param":null}}`, unknown},
		"empty parameter":      {`{"error":{"message":"canary","param":""}}`, unknown},
		"parameter of no text": {`{"error":{"message":"canary","param":7}}`, unknown},
		"a completion":         {hello, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, declared := range []struct {
				list []int
				want provider.Verdict
			}{
				{nil, row.want}, {[]int{503}, row.want}, {[]int{400}, notStarted}, {[]int{503, 400}, notStarted},
			} {
				s := serve(t, says(http.StatusBadRequest, row.body))
				p := s.provider(func(c *chat.Config) { c.BeforeWork = declared.list })
				reply, err := p.Call(t.Context(), request("{}"))
				require.Equal(t, provider.Reply{Verdict: declared.want}, reply, "%v", declared.list)
				var status *wire.StatusError
				require.ErrorAs(t, err, &status)
				require.Equal(t, http.StatusBadRequest, status.Status)
				require.NotContains(t, err.Error(), canary)
				s.one()
			}
		})
	}
}

// A repeat without the key would be a second execution.
func TestOnlyACallWithAKeyCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := serve(t, says(http.StatusOK, hello))
	p := s.provider()
	require.False(t, p.SendsKey())
	_, err := provider.Replays(p, time.Hour)
	require.ErrorContains(t, err, "name the header")

	p = s.provider(func(c *chat.Config) { c.KeyHeader = "X-Key" })
	require.True(t, p.SendsKey())
	replays, err := provider.Replays(p, time.Hour)
	require.NoError(t, err)
	resolver, ok := provider.As[provider.Resolver](replays)
	require.True(t, ok)
	r := request("{}")
	r.Attempt.StartedAt = time.Now()
	reply, err := resolver.Resolve(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, provider.Done, reply.Verdict)
	require.Equal(t, r.Attempt.ProviderKey, s.one().header.Get("X-Key"))
}
