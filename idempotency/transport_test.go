package idempotency_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/onejobtest"
)

// closing is a server that keeps the connection after its first answer, and on
// the second request acts and closes without one.
func closing(t *testing.T) (address string, executed *atomic.Int64) {
	t.Helper()
	executed = new(atomic.Int64)
	var requests sync.Map // by connection
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if n, _ := requests.LoadOrStore(r.RemoteAddr, new(atomic.Int64)); n.(*atomic.Int64).Add(1) == 1 && r.URL.Path == "/warm" {
			return
		}
		executed.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, executed
}

func post(t *testing.T, client *http.Client, ctx context.Context, address string, header http.Header) error {
	t.Helper()
	warm, err := client.Get(address + "/warm")
	require.NoError(t, err)
	io.Copy(io.Discard, warm.Body)
	warm.Body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/charge", bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	req.Header = header
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// net/http would send this request twice by itself, and its caller would not
// know.
func TestARequestWithAKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	header := func() http.Header { return http.Header{"Idempotency-Key": {"k"}} }
	address, executed := closing(t)
	require.Error(t, post(t, &http.Client{Transport: &http.Transport{}}, t.Context(), address, header()))
	require.Equal(t, int64(2), executed.Load(), "without the transport: what this is about")

	address, executed = closing(t)
	require.Error(t, post(t, &http.Client{Transport: &idempotency.Transport{Base: &http.Transport{}}}, t.Context(), address, header()))
	require.Equal(t, int64(1), executed.Load())
	header = func() http.Header { return http.Header{"X-Idempotency-Key": {"k"}} }
	require.Error(t, post(t, &http.Client{Transport: &idempotency.Transport{Base: &http.Transport{}}}, t.Context(), address, header()))
	require.Equal(t, int64(2), executed.Load())
}

// echo tells what it was sent, and has a handle.
func echo(t *testing.T) (address string, got func() http.Header) {
	t.Helper()
	var mu sync.Mutex
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		header = r.Header.Clone()
		w.Header().Set("Request-Id", "ch_17")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() http.Header { mu.Lock(); defer mu.Unlock(); return header }
}

func TestTheAttemptGoesToTheProvider(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	job, a, err := env.Jobs.Start(t.Context(), onejob.Intent{Owner: "o", Key: "client-key", Kind: "charge"}, onejob.Try{Provider: "p", Timeout: time.Minute})
	require.NoError(t, err)
	ctx := idempotency.WithAttempt(t.Context(), job, a)
	address, got := echo(t)
	host := must(url.Parse(address)).Host
	client := &http.Client{Transport: &idempotency.Transport{
		Deduplicates: func(r *http.Request) bool { return r.URL.Host == host && r.Method == http.MethodPost },
		Internal:     func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/internal") },
		Ref:          "Request-Id", Jobs: env.Jobs,
	}}
	send := func(ctx context.Context, method, path string, header http.Header) http.Header {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader("{}"))
		require.NoError(t, err)
		if header != nil {
			req.Header = header
		}
		before := req.Header.Clone()
		resp, err := client.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, before, req.Header, "a RoundTripper does not change its request")
		return got()
	}
	require.Equal(t, a.ProviderKey, send(ctx, http.MethodPost, "/charge", nil).Get("Idempotency-Key"))
	require.Empty(t, send(ctx, http.MethodPut, "/charge", nil).Values("Idempotency-Key"), "only to who deduplicates")
	require.Empty(t, send(t.Context(), http.MethodPost, "/charge", nil).Values("Idempotency-Key"), "only within an attempt")
	require.Equal(t, "own", send(ctx, http.MethodPost, "/charge", http.Header{"Idempotency-Key": {"own"}}).Get("Idempotency-Key"))

	first := send(idempotency.WithStep(ctx, "authorize"), http.MethodPost, "/charge", nil).Get("Idempotency-Key")
	second := send(idempotency.WithStep(ctx, "capture"), http.MethodPost, "/charge", nil).Get("Idempotency-Key")
	require.Len(t, first, 32)
	require.NotEqual(t, first, second)
	require.NotEqual(t, first, a.ProviderKey)
	require.Equal(t, first, send(idempotency.WithStep(ctx, "authorize"), http.MethodPost, "/charge", nil).Get("Idempotency-Key"))

	inside := send(ctx, http.MethodGet, "/internal", nil)
	require.Equal(t, string(job.ID), inside.Get("Onejob-Job"))
	require.Empty(t, send(ctx, http.MethodPost, "/charge", nil).Get("Onejob-Job"), "the outside is told nothing")

	_, now, err := env.Jobs.GetAttempt(t.Context(), a.ID)
	require.NoError(t, err)
	require.Equal(t, "ch_17", now.ExternalRef)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What goes to a provider is the attempt's key, not the client's.
func TestTheClientsKeyIsNotPassedOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		address, got := echo(w.T)
		client := &http.Client{Transport: &idempotency.Transport{Deduplicates: func(*http.Request) bool { return true }}}
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, address, strings.NewReader("{}"))
			require.NoError(w, err)
			resp, err := client.Do(req)
			require.NoError(w, err)
			resp.Body.Close()
			created(rw, r)
		})
		w.send(key("k"))
		require.Equal(w, w.only("user-7", "k").Attempt.ProviderKey, got().Get("Idempotency-Key"))
	})
}
