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

// A failure to dial says nothing of an earlier request that the client sent by
// itself. net/http does that for a request with an Idempotency-Key whose body
// it can send again, when a connection that was kept alive closes without an
// answer. The attempt's context notices it; under another one it stays hidden,
// which is the limit that Jobs.Fail documents.
func TestARepeatedRequestThatActedIsNotTakenForAFailureToDial(t *testing.T) {
	t.Parallel()
	plain := func(r *http.Request) {}
	for name, c := range map[string]struct {
		body   func() io.Reader
		change func(*http.Request)
		cause  error
		hidden onejob.Status // what a foreign context makes of it
	}{
		"POST is not sent again":                  {fixed, plain, io.EOF, onejob.StatusUnknown},
		"POST with Idempotency-Key is sent again": {fixed, withKey, syscall.ECONNREFUSED, onejob.StatusPending},
		"not where GetBody is nil":                {fixed, withKeyWithoutGetBody, io.EOF, onejob.StatusUnknown},
		// EOF or a reset, as the body was under way.
		"not where the body is a reader of the host's": {streamed, withKey, nil, onejob.StatusUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			watched(t, c.cause, onejob.StatusUnknown, c.hidden, func(ctx context.Context) (int32, error) {
				p := newDyingProvider(t)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, c.body())
				require.NoError(t, err)
				c.change(req)
				err = p.send(t, req)
				return p.acted.Load(), err
			})
		})
	}
}

func fixed() io.Reader    { return strings.NewReader("{}") }
func streamed() io.Reader { return io.MultiReader(strings.NewReader("{}")) }

// The same by another way: the client follows a redirect of the provider that
// acted, to a place that does not answer.
func TestARedirectThatActedIsNotTakenForAFailureToDial(t *testing.T) {
	t.Parallel()
	watched(t, syscall.ECONNREFUSED, onejob.StatusUnknown, onejob.StatusPending, func(ctx context.Context) (int32, error) {
		nowhere := "http://" + closedPort(t)
		var acted atomic.Int32
		p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			acted.Add(1)
			http.Redirect(w, r, nowhere, http.StatusSeeOther)
		}))
		t.Cleanup(p.Close)
		err := post(t, ctx, p.URL)
		return acted.Load(), err
	})
}

// A call of two steps, the first of which acted.
func TestASecondStepThatCannotDialDoesNotProveTheFirst(t *testing.T) {
	t.Parallel()
	watched(t, syscall.ECONNREFUSED, onejob.StatusUnknown, onejob.StatusPending, func(ctx context.Context) (int32, error) {
		var acted atomic.Int32
		p := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { acted.Add(1) }))
		t.Cleanup(p.Close)
		require.NoError(t, post(t, ctx, p.URL))
		err := post(t, ctx, "http://"+closedPort(t))
		return acted.Load(), err
	})
}

// And where nothing was sent, a provider that is down does not block the job.
func TestAFailureToDialAloneIsProof(t *testing.T) {
	t.Parallel()
	watched(t, syscall.ECONNREFUSED, onejob.StatusPending, onejob.StatusPending, func(ctx context.Context) (int32, error) {
		return 1, post(t, ctx, "http://"+closedPort(t))
	})
}

// watched makes the call under an attempt's context, by Do and by Fail, and
// under a foreign one, and requires what becomes of the job.
func watched(t *testing.T, cause error, want, hidden onejob.Status, call func(ctx context.Context) (acted int32, err error)) {
	jobs := onejob.New(dbtest.SQLite(t), nil)
	try := onejob.Try{Provider: "primary", Timeout: time.Minute}
	check := func(err error, acted int32) {
		require.Error(t, err)
		if cause != nil {
			require.ErrorIs(t, err, cause)
		}
		require.EqualValues(t, 1, acted, "the provider must have acted")
	}
	intent := func(key string) onejob.Intent { return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge"} }

	job, err := jobs.Do(t.Context(), intent("do"), try, func(ctx context.Context, _ onejob.Job, _ onejob.Attempt) ([]byte, error) {
		acted, err := call(ctx)
		check(err, acted)
		return nil, err
	})
	require.Error(t, err)
	require.Equal(t, want, job.Status())

	_, a, err := jobs.Start(t.Context(), intent("fail"), try)
	require.NoError(t, err)
	ctx, cancel := a.Context(t.Context())
	acted, err := call(ctx)
	cancel()
	check(err, acted)
	job, err = jobs.Fail(ctx, a, err)
	require.NoError(t, err)
	require.Equal(t, want, job.Status())

	_, a, err = jobs.Start(t.Context(), intent("foreign"), try)
	require.NoError(t, err)
	acted, err = call(t.Context())
	check(err, acted)
	job, err = jobs.Fail(t.Context(), a, err)
	require.NoError(t, err)
	require.Equal(t, hidden, job.Status())
}

func post(t *testing.T, ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, fixed())
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
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
