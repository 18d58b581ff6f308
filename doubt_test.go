package onejob_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// The limit that Jobs.Fail documents: a failure to dial says nothing of an
// earlier request that the client sent by itself. net/http does that for a
// request with an Idempotency-Key whose body it can send again, when a
// connection that was kept alive closes without an answer.
func TestNetHTTPCanHideARequestThatActedBehindAFailureToDial(t *testing.T) {
	t.Parallel()
	plain := func(r *http.Request) {}
	for name, c := range map[string]struct {
		body   io.Reader
		change func(*http.Request)
		cause  error
		status onejob.Status
	}{
		"POST is not sent again":                       {strings.NewReader("{}"), plain, io.EOF, onejob.StatusUnknown},
		"POST with Idempotency-Key is sent again":      {strings.NewReader("{}"), withKey, syscall.ECONNREFUSED, onejob.StatusPending},
		"not where GetBody is nil":                     {strings.NewReader("{}"), withKeyWithoutGetBody, io.EOF, onejob.StatusUnknown},
		"not where the body is a reader of the host's": {io.MultiReader(strings.NewReader("{}")), withKey, io.EOF, onejob.StatusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDyingProvider(t)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL, c.body)
			require.NoError(t, err)
			c.change(req)
			err = p.send(t, req)
			require.ErrorIs(t, err, c.cause)
			require.EqualValues(t, 1, p.acted.Load(), "the provider must have acted")
			require.Equal(t, c.status, statusAfterFail(t, err))
		})
	}
}

// The same limit, by another way: the client follows a redirect of the
// provider that acted, to a place that does not answer.
func TestARedirectCanHideARequestThatActedBehindAFailureToDial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		follow func(*http.Request, []*http.Request) error
		status onejob.Status
	}{
		"followed":     {nil, onejob.StatusPending},
		"not followed": {func(*http.Request, []*http.Request) error { return context.Canceled }, onejob.StatusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nowhere := "http://" + closedPort(t)
			var acted atomic.Int32
			p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				acted.Add(1)
				http.Redirect(w, r, nowhere, http.StatusSeeOther)
			}))
			t.Cleanup(p.Close)
			client := &http.Client{Transport: &http.Transport{}, CheckRedirect: c.follow}
			t.Cleanup(client.CloseIdleConnections)
			res, err := client.Post(p.URL, "application/json", strings.NewReader("{}"))
			if res != nil {
				_ = res.Body.Close()
			}
			require.Error(t, err)
			require.EqualValues(t, 1, acted.Load(), "the provider must have acted")
			require.Equal(t, c.status, statusAfterFail(t, err))
		})
	}
}

func withKey(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }

func withKeyWithoutGetBody(r *http.Request) {
	withKey(r)
	r.GetBody = nil
}

// dyingProvider acts on the second request of a connection that is kept alive
// and dies of it: it closes its port and the connection, and answers nothing.
type dyingProvider struct {
	*httptest.Server
	warm  atomic.Bool
	acted atomic.Int32
}

func newDyingProvider(t *testing.T) *dyingProvider {
	p := &dyingProvider{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *dyingProvider) serve(w http.ResponseWriter, _ *http.Request) {
	if p.warm.CompareAndSwap(false, true) {
		return
	}
	p.acted.Add(1)
	_ = p.Listener.Close()
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// send sends the request on a connection that has served one before.
func (p *dyingProvider) send(t *testing.T, req *http.Request) error {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Get(p.URL)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	res, err = client.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

// closedPort returns an address at which nobody listens any more.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// statusAfterFail is what becomes of a job whose attempt failed with cause.
func statusAfterFail(t *testing.T, cause error) onejob.Status {
	jobs := onejob.New(dbtest.SQLite(t), nil)
	_, a, err := jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"},
		onejob.Try{Provider: "primary", Timeout: time.Hour})
	require.NoError(t, err)
	job, err := jobs.Fail(t.Context(), a, cause)
	require.NoError(t, err)
	return job.Status()
}
