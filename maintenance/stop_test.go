package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

func TestRunBlocksUntilItsContextEndsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		ctx, cancel := context.WithTimeout(w.Context(), day)
		defer cancel()
		l := w.loop(maintenance.Config{Sweep: maintenance.Sweep{Every: time.Hour}})
		begin := time.Now()
		require.NoError(w, l.Run(ctx))
		require.Equal(w, day, time.Since(begin))
		require.Empty(w, ours())
		require.Greater(w, l.Counters().Sweep.Runs, int64(18))
		require.NoError(w, l.Run(ctx), "it has ended already")
		require.Equal(w, day, time.Since(begin))
	})
}

func TestStopEndsRun(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		l := w.loop(maintenance.Config{Sweep: maintenance.Sweep{Every: time.Hour}})
		require.NoError(w, l.Stop(w.Context()), "nothing runs")
		ended := make(chan error, 1)
		go func() { ended <- l.Run(w.Context()) }()
		time.Sleep(day)
		require.NoError(w, l.Stop(w.Context()))
		require.NoError(w, <-ended)
		require.NoError(w, l.Stop(w.Context()), "twice is no error")
	})
}

func TestALoopRunsOnceAtATimeAndMayBeStartedAgain(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		l := w.loop(maintenance.Config{Sweep: maintenance.Sweep{Every: time.Hour}})
		for range 3 {
			before := l.Counters().Sweep.Runs
			require.NoError(w, l.Start())
			require.ErrorContains(w, l.Start(), "runs already")
			require.ErrorContains(w, l.Run(w.Context()), "runs already")
			time.Sleep(day)
			require.NoError(w, l.Stop(w.Context()))
			require.InDelta(w, 24, l.Counters().Sweep.Runs-before, 5, "a refused one runs all the same")
		}
	})
}

// slowly is a store whose purges begin ten seconds after they were asked for, or
// not at all where nobody waits any more.
type slowly struct {
	onejob.Store
	onejob.TurnStore
	onejob.OperatorStore
	began chan struct{}
}

func (s slowly) Purge(ctx context.Context, r onejob.Retention, limit int, clock func() time.Time) (int, error) {
	s.began <- struct{}{}
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return s.OperatorStore.Purge(ctx, r, limit, clock)
}

func (w *world) slow() slowly {
	s := slowly{w.store, w.store.(onejob.TurnStore), w.store.(onejob.OperatorStore), make(chan struct{}, 100)}
	w.jobs = onejob.New(s, nil)
	return s
}

func TestStopWaitsForTheStepUnderWayAndForNoOther(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		w.final(10)
		time.Sleep(time.Hour)
		s := w.slow()
		l := w.loop(maintenance.Config{Purge: maintenance.Purge{Every: time.Hour, Limit: 3, Retention: onejob.Retention{Payloads: time.Minute}}})
		require.NoError(w, l.Start())
		<-s.began
		<-s.began // the first step is over
		begin := time.Now()
		require.NoError(w, l.Stop(w.Context()))
		require.Equal(w, 10*time.Second, time.Since(begin), "it waited for the step, and no longer")
		c := l.Counters().Purge
		require.Equal(w, int64(6), c.Purged)
		require.Equal(w, int64(6), w.stats().Purged)
		require.Equal(w, int64(1), c.Stopped)
		require.Zero(w, c.Errors+c.Full+c.Lost)
		require.Empty(w, s.began)

		require.NoError(w, l.Start())
		for l.Counters().Purge.LastSuccess.IsZero() {
			time.Sleep(time.Minute)
		}
		require.NoError(w, l.Stop(w.Context()))
		require.Equal(w, int64(10), w.stats().Purged, "the rest is for the next run")
	})
}

func TestStopCutsTheStepOffWhereNobodyWaits(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		w.final(10)
		time.Sleep(time.Hour)
		s := w.slow()
		l := w.loop(maintenance.Config{Purge: maintenance.Purge{Every: time.Hour, Limit: 3, Retention: onejob.Retention{Payloads: time.Minute}}})
		require.NoError(w, l.Start())
		<-s.began
		ctx, cancel := context.WithTimeoutCause(w.Context(), time.Second, errors.New("the host has no more time"))
		defer cancel()
		require.ErrorContains(w, l.Stop(ctx), "the host has no more time")
		synctest.Wait()
		require.Empty(w, ours())
		require.NoError(w, l.Stop(w.Context()))
		require.Equal(w, int64(1), l.Counters().Purge.Stopped)
		require.Zero(w, l.Counters().Purge.Errors)
		require.Zero(w, w.stats().Purged)
	})
}

func TestStopGivesUpWhatIsAsked(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		w.doubt(2)
		l := w.loop(maintenance.Config{Reconcile: []maintenance.Reconcile{{
			Every: time.Minute, Run: maintenance.Ask(w.jobs, onejob.Filter{}, func(ctx context.Context, _ onejob.Job, _ onejob.Attempt) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		}}})
		require.NoError(w, l.Start())
		for asked(l).Runs == 0 {
			time.Sleep(time.Second)
		}
		begin := time.Now()
		require.NoError(w, l.Stop(w.Context()))
		require.Zero(w, time.Since(begin))
		require.Equal(w, int64(1), asked(l).Stopped)
		require.Zero(w, asked(l).Errors)
		require.Equal(w, int64(2), w.stats().Unknown)
	})
}

// In real time and on both stores: wherever it is stopped, each job is purged or
// is not.
func TestAPurgeThatIsStoppedAnywhereLeavesNoHalfState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		total := 0
		l := w.loop(maintenance.Config{Purge: maintenance.Purge{
			Every: 2 * time.Millisecond, Limit: 7, Pause: time.Millisecond, Retention: onejob.Retention{Payloads: time.Microsecond},
		}})
		var begun int64
		for round := 0; l.Counters().Purge.Stopped < 4; round++ {
			if w.stats().Purged == int64(total) {
				w.finalOf(fmt.Sprint("round-", round), 80)
				total += 80
			}
			require.NoError(w, l.Start())
			w.until("a purge is under way", func() bool { return l.Counters().Purge.Runs > begun })
			ctx, cancel := context.WithCancel(w.Context())
			if round%2 == 0 {
				cancel() // cut off
			}
			if err := l.Stop(ctx); err != nil {
				require.ErrorIs(w, err, context.Canceled)
			}
			require.NoError(w, l.Stop(w.Context()))
			cancel()
			begun = l.Counters().Purge.Runs
			w.invariants()
		}
		require.NoError(w, l.Start())
		w.until("the rest is purged", func() bool { return w.stats().Purged == int64(total) })
		require.NoError(w, l.Stop(w.Context()))
		require.Zero(w, l.Counters().Purge.Panics)
	})
}
