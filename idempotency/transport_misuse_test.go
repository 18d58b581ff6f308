package idempotency_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/onejobtest"
)

// A proxy passes headers on: the client's key is its owner's own, and what it
// says of jobs is not to be trusted.
func TestAProxyPassesNoIdentityOfTheClients(t *testing.T) {
	t.Parallel()
	for name, deduplicates := range map[string]bool{"deduplicates": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				address, got := echo(w.T)
				proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(address)))
				proxy.Transport = &idempotency.Transport{Deduplicates: func(*http.Request) bool { return deduplicates }}
				w.wrap(proxy.ServeHTTP)
				r := key("order-1")
				r.header = http.Header{"Onejob-Job": {"forged"}, "X-Idempotency-Key": {"order-1"}}
				require.Equal(w, http.StatusOK, w.send(r).StatusCode)
				want := ""
				if deduplicates {
					want = w.only("user-7", "order-1").Attempt.ProviderKey
				}
				require.Equal(w, want, got().Get("Idempotency-Key"))
				require.Empty(w, got().Get("X-Idempotency-Key"))
				require.Empty(w, got().Get("Onejob-Job"))
			})
		})
	}
}

// The handle is that of the call that may have acted, not of any other.
func TestTheHandleIsThatOfACallWithAKey(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	job, a, err := env.Jobs.Start(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"}, onejob.Try{Provider: "p", Timeout: time.Minute})
	require.NoError(t, err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "rid"+strings.ReplaceAll(r.URL.Path, "/", "-"))
		if r.URL.Path == "/moved" {
			w.WriteHeader(http.StatusSeeOther)
		}
	}))
	t.Cleanup(s.Close)
	client := &http.Client{
		Transport:     &idempotency.Transport{Deduplicates: func(r *http.Request) bool { return r.Method == http.MethodPost }, Ref: "Request-Id", Jobs: env.Jobs},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx := idempotency.WithAttempt(t.Context(), job, a)
	for _, call := range []struct{ method, path, want string }{
		{http.MethodGet, "/fraud", ""}, {http.MethodPost, "/moved", ""}, {http.MethodPost, "/charge", "rid-charge"}, {http.MethodPost, "/more", "rid-charge"},
	} {
		req, err := http.NewRequestWithContext(ctx, call.method, s.URL+call.path, nil)
		require.NoError(t, err)
		req.Header = nil // which is allowed
		resp, err := client.Transport.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		_, now, err := env.Jobs.GetAttempt(t.Context(), a.ID)
		require.NoError(t, err)
		require.Equal(t, call.want, now.ExternalRef, call.path)
	}
	client.CloseIdleConnections()
}

// A step's key can be had again, to look up what became of it.
func TestAStepsKeyCanBeLookedUp(t *testing.T) {
	t.Parallel()
	a := onejob.Attempt{ProviderKey: "k"}
	ctx := context.Background()
	require.Equal(t, "k", idempotency.StepKey(ctx, a))
	capture := idempotency.StepKey(idempotency.WithStep(ctx, "capture"), a)
	require.Len(t, capture, 32)
	require.NotEqual(t, capture, idempotency.StepKey(idempotency.WithStep(ctx, "refund"), a))
}
