package idempotency_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

// H5, H6, H7 in Create mode.
func rowCreateAnswersWithTheJob(w *world) {
	w.create()
	first := w.send(key("k"))
	require.Equal(w, http.StatusAccepted, first.StatusCode)
	job := w.job(first)
	require.Equal(w, jobView{ID: string(w.only("user-7", "k").ID), State: "pending"}, job)
	require.Equal(w, "/jobs/"+job.ID, first.Header.Get("Location"))
	require.Equal(w, `"k"`, first.Header.Get("Idempotency-Key"))
	require.Empty(w, first.Header.Get("Idempotent-Replayed"))

	again := w.send(key("k"))
	require.Equal(w, http.StatusAccepted, again.StatusCode)
	require.Equal(w, job, w.job(again))
	require.Equal(w, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(w, "1", again.Header.Get("Retry-After"))

	stored := w.only("user-7", "k")
	a, err := w.jobs.BeginAttempt(w.Context(), stored, onejob.Try{Provider: "worker", Timeout: time.Minute})
	require.NoError(w, err)
	require.Equal(w, "running", w.job(w.send(key("k"))).State)
	_, err = w.jobs.MarkUnknown(w.Context(), a, nil)
	require.NoError(w, err)
	doubt := w.send(key("k"))
	require.Equal(w, http.StatusAccepted, doubt.StatusCode)
	require.Equal(w, "unknown", w.job(doubt).State)
	require.Empty(w, doubt.Header.Get("Retry-After"), "waiting does not end it")

	_, err = w.jobs.Complete(w.Context(), a, []byte(`{"order":17}`))
	require.NoError(w, err)
	for _, done := range []answer{w.send(key("k")), w.send(request{method: http.MethodGet, path: first.Header.Get("Location")})} {
		require.Equal(w, http.StatusOK, done.StatusCode)
		require.JSONEq(w, `{"order":17}`, string(w.job(done).Result))
		require.Equal(w, "no-store", done.Header.Get("Cache-Control"))
	}
	w.problem(w.send(request{keys: []string{"k"}, body: "[1]"}), http.StatusConflict, "key-reused")
}

// H16.
func rowManyCreatesAreOneJob(w *world) {
	const n = 50
	w.create()
	answers := make([]answer, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { answers[i] = w.send(key("k")) })
	}
	group.Wait()
	ids, fresh := map[string]bool{}, 0
	for _, a := range answers {
		require.Equal(w, http.StatusAccepted, a.StatusCode)
		ids[w.job(a).ID] = true
		if a.Header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	require.Len(w, ids, 1)
	require.Equal(w, 1, fresh)
}

// The host's own intent: what it leaves out finds the same job.
func TestTheHostSaysWhatTheIntentIs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.create(func(o *idempotency.Options) {
			o.Intent = func(r *http.Request, body []byte) (onejob.Intent, error) {
				if string(body) == `"bad"` {
					return onejob.Intent{}, fmt.Errorf("canary")
				}
				return onejob.Intent{Kind: "print", Params: body, Owner: "somebody else", Key: "another"}, nil
			}
		})
		first := w.send(request{keys: []string{"k"}, path: "/orders/primary"})
		second := w.send(request{keys: []string{"k"}, path: "/orders/fallback"})
		require.Equal(w, w.job(first).ID, w.job(second).ID)
		require.Equal(w, "print", w.only("user-7", "k").Kind)
		bad := w.send(request{keys: []string{"l"}, body: `"bad"`})
		w.problem(bad, http.StatusBadRequest, "request-invalid")
		require.NotContains(w, bad.text, "canary")
	})
}

// A host that enqueues in the same transaction does so in Options.Create.
func TestTheHostStoresTheIntentItself(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		calls := 0
		w.create(func(o *idempotency.Options) {
			o.Create = func(ctx context.Context, in onejob.Intent) (onejob.Job, bool, error) {
				calls++
				return w.jobs.Create(ctx, in)
			}
		})
		w.send(key("k"))
		require.Equal(w, "true", w.send(key("k")).Header.Get("Idempotent-Replayed"))
		require.Equal(w, 2, calls)
	})
}

func TestCreateTakesNoOtherMethod(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.create()
		w.problem(w.send(request{method: http.MethodPut, keys: []string{"k"}}), http.StatusMethodNotAllowed, "method-not-allowed")
		w.problem(w.send(request{}), http.StatusBadRequest, "key-missing")
	})
}
