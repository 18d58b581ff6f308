package wire_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

// silent is a transport that does not report to httptrace.
type silent func(r *http.Request) (*http.Response, error)

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// It may have written anything before it failed, or before it was refused.
func TestATransportThatDoesNotReportLeavesADoubt(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	answers := func(status int, err error) silent {
		return func(r *http.Request) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			return w.Result(), nil
		}
	}
	for name, row := range map[string]struct {
		transport silent
		want      provider.Verdict
	}{
		"an error":          {answers(0, errors.New("broken")), provider.Unknown},
		"a dial refused":    {answers(0, refused), provider.Unknown},
		"too many requests": {answers(429, nil), provider.Unknown},
		"a declared status": {answers(503, nil), provider.Unknown},
		"an internal error": {answers(500, nil), provider.Unknown},
		"a success":         {answers(200, nil), provider.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := wire.Sender{Client: &http.Client{Transport: row.transport}, BeforeWork: []int{503}}
			_, verdict, err := sender.Send(post(t, "http://"+nobody))
			require.Equal(t, row.want, verdict, "%v", err)
			require.Equal(t, verdict == provider.Done, err == nil)

			ctx, watched := wire.Watch(t.Context(), 503)
			resp, err := sender.Client.Do(post(t, "http://"+nobody).WithContext(ctx))
			require.Equal(t, row.want, watched.Verdict(resp, err))
			require.Zero(t, watched.Requests())
			if err == nil {
				resp.Body.Close()
			}
		})
	}
}

func TestNeitherResponseNorErrorIsADoubt(t *testing.T) {
	t.Parallel()
	_, watched := wire.Watch(t.Context())
	require.Equal(t, provider.Unknown, watched.Verdict(nil, nil))
}

// Who sends with a client of his own may follow redirects: what the last server
// says then is not what the first one did.
func TestTheLastOfTwoRequestsSaysNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.http(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/work":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/busy":
			http.Redirect(w, r, "/work", http.StatusTemporaryRedirect)
		case "/declared":
			http.Redirect(w, r, "/work?then=503", http.StatusSeeOther)
		case "/nobody":
			http.Redirect(w, r, "http://"+nobody, http.StatusTemporaryRedirect)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		}
	})
	for path, row := range map[string]struct {
		requests int
		want     provider.Verdict
	}{
		"/work":     {1, provider.NotStarted},
		"/busy":     {2, provider.Unknown},
		"/declared": {2, provider.Unknown},
		"/nobody":   {1, provider.Unknown},
		"/loop":     {10, provider.Unknown},
		"/done":     {1, provider.Done},
	} {
		ctx, watched := wire.Watch(t.Context(), 503)
		resp, err := s.sender.Client.Do(post(t, s.url+path).WithContext(ctx))
		require.Equal(t, row.want, watched.Verdict(resp, err), "%s: %v", path, err)
		require.Equal(t, row.requests, watched.Requests(), path)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
	}
}

// HTTP/2 may report that a request was written after its answer is there.
func TestAReportThatComesLateChangesNothing(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]provider.Verdict{"/busy": provider.NotStarted, "/moved": provider.Unknown} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			client := s.https(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					http.Redirect(w, r, "/busy", http.StatusTemporaryRedirect)
					return
				}
				w.WriteHeader(http.StatusTooManyRequests)
			}).Client()
			warm(t, client, s.url+"/busy", s.seen) // the first request of a connection waits for its settings
			last := int32(1)
			if path == "/moved" {
				last = 2
			}
			release := make(chan struct{})
			ctx, watched := wire.Watch(t.Context())
			var written atomic.Int32
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() {
				if written.Add(1) == last {
					<-release
				}
			}})
			resp, err := client.Do(post(t, s.url+path).WithContext(ctx))
			verdict := watched.Verdict(resp, err)
			close(release)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 2, resp.ProtoMajor)
			require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
			require.Equal(t, want, verdict)
		})
	}
}

// A client that sends again by itself is seen too.
func TestARepeatByTheClientIsSeen(t *testing.T) {
	t.Parallel()
	address, seen := serveRaw(t, func(c net.Conn, a arrival) bool {
		if a.number == 3 {
			return says("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")(c, a)
		}
		return answersOnce(func(net.Conn) {})(c, a)
	})
	client := newClient(t)
	warm(t, client, "http://"+address, seen)
	// number counts on: the second is closed, the third is the repeat.
	seen.Store(1)
	ctx, watched := wire.Watch(t.Context())
	resp, err := client.Do(post(t, "http://"+address).WithContext(ctx))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, 2, watched.Requests())
	require.Equal(t, provider.Unknown, watched.Verdict(resp, err))
}

// Others may watch the same requests, such as an attempt's own context.
func TestWatchLeavesTheTracesThatAreThere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.http(nothing)
	outer := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteHeaders: func() { outer++ }})
	s.ctx = ctx
	s.require(provider.Done, 1)
	require.Equal(t, 1, outer)
}
