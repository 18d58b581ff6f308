package wire_test

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

// resent are the requests that net/http sends again by itself.
var resent = map[string]func(t *testing.T, url string) *http.Request{
	"a POST with an Idempotency-Key": post,
	"a POST with an X-Idempotency-Key": func(t *testing.T, url string) *http.Request {
		req := post(t, url)
		req.Header = http.Header{"X-Idempotency-Key": {"key-1"}}
		return req
	},
	"a POST with a key and no body": func(t *testing.T, url string) *http.Request {
		req := get(t, url)
		req.Method = http.MethodPost
		req.Header.Set("Idempotency-Key", "key-1")
		return req
	},
	"a GET": get,
	"a GET of an empty body": func(t *testing.T, url string) *http.Request {
		req := get(t, url)
		req.Body = http.NoBody
		return req
	},
	"a HEAD": func(t *testing.T, url string) *http.Request {
		req := get(t, url)
		req.Method = http.MethodHead
		return req
	},
}

// answersOnce keeps its connections, and closes each without an answer once it
// has read a second request from it.
func answersOnce(end func(c net.Conn)) func(c net.Conn, a arrival) bool {
	return func(c net.Conn, a arrival) bool {
		if a.onConn > 1 {
			end(c)
			return false
		}
		text := ok
		if a.Method == http.MethodHead {
			text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
		}
		io.WriteString(c, text)
		return true
	}
}

// warm makes client have a connection that is kept.
func warm(t *testing.T, client *http.Client, url string, seen *atomic.Int32) {
	t.Helper()
	resp, err := client.Do(get(t, url))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, int32(1), seen.Swap(0))
}

// requireOnce requires that plain net/http makes two requests of this one,
// without which the test would prove nothing, and that Send makes one.
func requireOnce(t *testing.T, serve func(t *testing.T) (string, *atomic.Int32), client func() *http.Client,
	request func(t *testing.T, url string) *http.Request,
) {
	t.Helper()
	url, seen := serve(t)
	plain := client()
	warm(t, plain, url, seen)
	resp, err := plain.Do(request(t, url))
	if err == nil {
		resp.Body.Close()
	}
	require.Equal(t, 2, int(seen.Load()), "net/http does not send it again: %v", err)

	url, seen = serve(t)
	sender := wire.Sender{Client: client()}
	warm(t, sender.Client, url, seen)
	_, verdict, err := sender.Send(request(t, url))
	require.Error(t, err)
	require.Equal(t, provider.Unknown, verdict)
	require.Equal(t, 1, int(seen.Load()))
}

func TestOneAttemptIsOneRequest(t *testing.T) {
	t.Parallel()
	for name, request := range resent {
		for how, end := range map[string]func(c net.Conn){"closed": func(net.Conn) {}, "reset": reset} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				requireOnce(t, func(t *testing.T) (string, *atomic.Int32) {
					address, seen := serveRaw(t, answersOnce(end))
					return "http://" + address, seen
				}, func() *http.Client { return newClient(t) }, request)
			})
		}
	}
}

// HTTP/2 has a word for "not processed", after which net/http sends again.
// Whether that word is true is not for the client to decide.
func TestOneAttemptIsOneRequestThroughHTTP2(t *testing.T) {
	t.Parallel()
	for name, request := range resent {
		for how, refuse := range map[string]refusal{"refused stream": refusedStream, "going away": goingAway} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				requireOnce(t, func(t *testing.T) (string, *atomic.Int32) {
					address, seen := serveHTTP2(t, refuse)
					return "http://" + address, seen
				}, func() *http.Client { return newHTTP2Client(t) }, request)
			})
		}
	}
}

func TestAStreamThatIsResetLeavesADoubt(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"without an answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"in the body": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.sender.Client = s.https(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor == 2 {
					handler(w, r)
				}
			}).Client()
			s.require(provider.Unknown, 1)
		})
	}
}

// What gets no body of its own must not arrive with one.
func TestARequestWithoutABodyArrivesWithoutOne(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPost, http.MethodPut, http.MethodPatch,
	} {
		for name, body := range map[string]io.ReadCloser{"nil": nil, "empty": http.NoBody} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				s.http(func(w http.ResponseWriter, r *http.Request) {
					if text, err := io.ReadAll(r.Body); err != nil || len(text) > 0 || r.Method != method {
						w.WriteHeader(http.StatusTeapot)
					}
				})
				req := get(t, s.url)
				req.Method, req.Body = method, body
				answer, verdict, err := s.sender.Send(req)
				require.NoError(t, err)
				require.Equal(t, provider.Done, verdict)
				require.Equal(t, http.StatusOK, answer.Status)
				require.Equal(t, int32(1), s.seen.Load())
			})
		}
	}
}
