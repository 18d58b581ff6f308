package chat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

// cutBody ends the answer in the middle.
func cutBody(w http.ResponseWriter, _ map[string]any) {
	w.Header().Set("Content-Length", "999")
	io.WriteString(w, hello)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func TestTheHandleIsKeptAlsoWhereNoAnswerCame(t *testing.T) {
	t.Parallel()
	nameless := strings.Replace(hello, `"id":"run-1",`, "", 1)
	for name, row := range map[string]struct {
		reply   func(w http.ResponseWriter, body map[string]any)
		verdict provider.Verdict
		ref     string
	}{
		"an answer":              {says(http.StatusOK, hello), provider.Done, "run-1"},
		"an answer without one":  {says(http.StatusOK, nameless), provider.Done, "req-1"},
		"no choices":             {says(http.StatusOK, `{"id":"run-2","model":"large-2"}`), provider.Unknown, "run-2"},
		"no choices without one": {says(http.StatusOK, `{"model":"large-2"}`), provider.Unknown, "req-1"},
		"no content":             {says(http.StatusOK, strings.Replace(hello, `"hello"`, "null", 1)), provider.Failed, "run-1"},
		"no content without one": {says(http.StatusOK, strings.Replace(nameless, `"hello"`, "null", 1)), provider.Failed, "req-1"},
		"no answer yet":          {says(http.StatusAccepted, hello), provider.Unknown, "run-1"},
		"a bad request":          {says(http.StatusBadRequest, hello), provider.Unknown, "req-1"},
		"no JSON":                {says(http.StatusOK, hello[:9]), provider.Unknown, "req-1"},
		"a cut body":             {cutBody, provider.Unknown, "req-1"},
		"an internal error":      {says(http.StatusInternalServerError, hello), provider.Unknown, "req-1"},
		"a refusal":              {says(http.StatusTooManyRequests, hello), provider.NotStarted, "req-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for header, set := range map[string]func(c *chat.Config){
				"X-Request-Id": none,
				"X-Run":        func(c *chat.Config) { c.RefHeader = "x-run" },
			} {
				s := serve(t, func(w http.ResponseWriter, body map[string]any) {
					w.Header().Set(header, "req-1")
					row.reply(w, body)
				})
				reply, _ := s.provider(set).Call(t.Context(), request("{}"))
				require.Equal(t, row.verdict, reply.Verdict)
				require.Equal(t, row.ref, reply.Ref)
				s.one()
			}
		})
	}
}

func TestAnotherHeaderIsNoHandle(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, body map[string]any) {
		w.Header().Set("X-Request-Id", "req-1")
		says(http.StatusInternalServerError, "")(w, body)
	})
	reply, err := s.provider(func(c *chat.Config) { c.RefHeader = "X-Run" }).Call(t.Context(), request("{}"))
	require.Error(t, err)
	require.Empty(t, reply.Ref)
}

// handles are what servers may send, and whether a store takes it: what it does
// not take must not be tried.
var handles = map[string]bool{
	"run-1": true, "": true, "ü-1": true, strings.Repeat("x", 255): true, "a b": true,
	strings.Repeat("x", 256): false, strings.Repeat("ü", 128): false,
	"a\x00b": false, "a\nb": false, "a\tb": false, "\x1b[2J": false, "a\x7f": false, "a\u0085b": false, "\u009b2J": false,
}

func TestAHandleThatNoStoreTakesIsDropped(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	for handle, good := range handles {
		_, attempt, err := env.Jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: fmt.Sprintf("%.9x of %d", handle, len(handle)), Kind: "chat"},
			onejob.Try{Provider: "acme", Timeout: time.Hour})
		require.NoError(t, err)
		_, err = env.Jobs.SetExternalRef(t.Context(), attempt, handle)
		require.Equal(t, good, err == nil, "the store and %q: %v", handle, err)

		id, err := json.Marshal(handle)
		require.NoError(t, err)
		p := serve(t, says(http.StatusOK, "")).provider()
		reply, err := p.Read([]byte(strings.Replace(hello, `"run-1"`, string(id), 1)))
		require.NoError(t, err)
		want := ""
		if good {
			want = handle
		}
		require.Equal(t, want, reply.Ref, "%q", handle)
	}
}

// A bad one in the answer does not push out the one of the header.
func TestABadHandleOfTheAnswerLeavesThatOfTheHeader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for header, want := range map[string]string{"req-1": "req-1", long: "", "a\tb": "", "a\xffb": "", "a\u0085b": ""} {
		s := serve(t, func(w http.ResponseWriter, body map[string]any) {
			w.Header().Set("X-Request-Id", header)
			says(http.StatusOK, strings.Replace(hello, "run-1", long, 1))(w, body)
		})
		reply, err := s.provider().Call(t.Context(), request("{}"))
		require.NoError(t, err)
		require.Equal(t, want, reply.Ref, "%q", header)
	}
}
