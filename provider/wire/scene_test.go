package wire_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

// scene is a server and how it is called.
type scene struct {
	*testing.T
	url       string
	seen      *atomic.Int32 // requests that the server has read
	sender    wire.Sender
	transport *http.Transport // the sender's
	ctx       context.Context
}

func newScene(t *testing.T) *scene {
	t.Helper()
	client := newClient(t)
	return &scene{
		T: t, seen: new(atomic.Int32), ctx: t.Context(),
		sender: wire.Sender{Client: client}, transport: client.Transport.(*http.Transport),
	}
}

// require sends, and requires the verdict and how many requests the server saw.
func (s *scene) require(want provider.Verdict, requests int) (wire.Answer, error) {
	s.Helper()
	answer, verdict, err := s.sender.Send(post(s.T, s.url).WithContext(s.ctx))
	require.Equal(s, want, verdict, "%v", err)
	require.Equal(s, verdict == provider.Done, err == nil, "%v", err)
	require.Equal(s, requests, int(s.seen.Load()), "requests on the wire")
	return answer, err
}

// raw starts a server that writes what it likes.
func (s *scene) raw(answer func(c net.Conn, a arrival) bool) {
	s.Helper()
	address, seen := serveRaw(s.T, answer)
	s.url, s.seen = "http://"+address, seen
}

// http starts a server that is in order.
func (s *scene) http(handler http.HandlerFunc) {
	server := httptest.NewServer(s.counted(handler))
	s.Cleanup(server.Close)
	s.url = server.URL
}

// https starts one whose certificate nobody knows but its own client.
func (s *scene) https(handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(s.counted(handler))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	s.Cleanup(server.Close)
	s.url = server.URL
	return server
}

func (s *scene) counted(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.seen.Add(1)
		handler(w, r)
	}
}

func (s *scene) proxy(address string) {
	s.transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address})
}

// until ends the scene's context then.
func (s *scene) until(end time.Time) {
	ctx, cancel := context.WithDeadline(s.ctx, end)
	s.Cleanup(cancel)
	s.ctx = ctx
}

// dialsForever makes connecting take until its context ends, and then calls.
func (s *scene) dialsForever(begun func()) {
	s.url = "http://" + nobody
	s.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		begun()
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// post is a request as adapters make it: its body can be had twice.
func post(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(`{"amount":1200}`)))
	require.NoError(t, err)
	require.NotNil(t, req.GetBody)
	req.Header.Set("Idempotency-Key", "key-1")
	return req
}

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}
