package console_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/onejobtest"
)

// A connection that falls silent is waited for by lib/pq whatever the context
// says: the pages give up all the same, and serve again when it is back.
func TestASilentConnectionDoesNotHoldThePages(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, dbtest.PostgresDSN(t))
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, proxy.DSN), nil)
	require.NoError(t, err)
	w := newWorld(t, onejob.New(store, nil), nil)
	w.opts.Timeout, w.opts.CountEvery = 500*time.Millisecond, time.Nanosecond
	w.serve()
	a := w.doubt("k")
	path := "attempts/" + string(a.ID) + "/refute"
	form := w.review(path, says("ada", "voided"))
	silent := func(ask func() answer) {
		w.stands(a.ID) // there is a connection
		proxy.Sever(faultproxy.Hang)
		w.page(ask(), http.StatusServiceUnavailable, "The database gave no answer")
		proxy.Sever(faultproxy.FIN) // what waits may end
	}
	for _, path := range []string{"", "attempts", "jobs/" + string(a.JobID), path, ""} {
		silent(func() answer { return w.get(path) })
	}
	silent(func() answer { return w.post("find", map[string][]string{"owner": {"user-7"}, "key": {"k"}}) })
	silent(func() answer { return w.post(path, form) })
	w.opts.Timeout = 10 * time.Second
	w.serve()
	w.page(w.get(""), http.StatusOK, "Counts")
}

// uncounted is a store whose counting takes longer than anybody waits, or fails.
type uncounted struct {
	onejob.Store
	onejob.OperatorStore
	stats func(context.Context) error
	asked atomic.Int64
}

func (s *uncounted) Stats(ctx context.Context, clock func() time.Time) (onejob.Stats, error) {
	s.asked.Add(1)
	if err := s.stats(ctx); err != nil {
		return onejob.Stats{}, err
	}
	return s.OperatorStore.Stats(ctx, clock)
}

// The landing page is for who is woken: a large table does not take it away.
func TestTheOldestDoubtIsShownWhereCountingTakesTooLong(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	release := make(chan struct{})
	store := &uncounted{Store: db, OperatorStore: db, stats: func(context.Context) error { <-release; return nil }}
	w := newWorld(t, onejob.New(store, nil), nil)
	w.opts.Timeout = time.Second // a counting may take three
	w.serve()
	w.doubt("k")
	for range 2 { // the second asks for no second counting
		w.page(w.get(""), http.StatusOK, "The oldest attempt in doubt began", "Not counted yet")
	}
	require.EqualValues(t, 1, store.asked.Load())
	close(release)
	require.Eventually(t, func() bool { return w.get("").StatusCode == http.StatusOK }, time.Minute, time.Millisecond)
}

// What fails is not begun again by each who reloads, and what was counted before
// is shown with its age.
func TestTheLastCountsAreShownWhereCountingFails(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	db := dbtest.SQLite(t)
	fails := context.DeadlineExceeded
	var broken atomic.Bool
	store := &uncounted{Store: db, OperatorStore: db, stats: func(context.Context) error {
		if broken.Load() {
			return fails
		}
		return nil
	}}
	w := newWorld(t, onejob.New(store, nil), nil)
	w.opts.Now = env.Now
	w.serve()
	w.page(w.get(""), http.StatusOK, "Counted just now")
	broken.Store(true)
	env.Advance(2 * time.Minute)
	for range 3 {
		w.page(w.get(""), http.StatusOK, "Counted 2 min ago")
	}
	require.EqualValues(t, 2, store.asked.Load())
	broken.Store(false)
	env.Advance(time.Minute)
	w.page(w.get(""), http.StatusOK, "Counted just now")
}

// Who withdraws an intent has seen what was begun for it.
func TestCancelingAJobIsAskedForAgainWhereAnAttemptHasBegunMeanwhile(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		_, err := w.op.Refute(w.Context(), a.ID, bert)
		require.NoError(w, err)
		path := "jobs/" + string(a.JobID) + "/cancel"
		form := w.review(path, says("ada", "withdrawn"))
		_, err = w.jobs.BeginAttempt(w.Context(), w.job(a), onejob.Try{Provider: "fallback-pay", Timeout: time.Hour})
		require.NoError(w, err)
		w.page(w.post(path, form), http.StatusConflict, "This has changed meanwhile", "Attempt 2 by <bdi>fallback-pay</bdi>")
		require.Equal(w, onejob.JobOpen, w.job(a).State)
		require.Equal(w, http.StatusSeeOther, w.post(path, w.review(path, says("ada", "withdrawn"))).StatusCode)
	})
}
