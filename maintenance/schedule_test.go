package maintenance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

const day = 24 * time.Hour

func TestNothingRunsThatIsNotStartedOrNotAskedFor(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		everything := maintenance.Config{
			Sweep: maintenance.Sweep{Every: time.Minute}, Purge: maintenance.Purge{Every: time.Minute, Retention: onejob.Retention{Payloads: 1}},
			Reconcile: asking(time.Minute, func(context.Context) error { return nil }),
		}
		w.final(1)
		l := w.loop(everything)
		require.Empty(w, ours(), "New starts something")
		time.Sleep(day)
		require.Zero(w, l.Counters().Sweep)
		require.Zero(w, l.Counters().Purge)
		require.Zero(w, asked(l))

		require.NoError(w, l.Start())
		require.NotEmpty(w, ours(), "this is how its goroutines are found")
		time.Sleep(4 * time.Hour)
		require.NoError(w, l.Stop(w.Context()))
		require.Empty(w, ours(), "Stop leaves something")
		before := l.Counters()
		require.Greater(w, before.Sweep.Runs, int64(200))
		require.Equal(w, int64(1), before.Purge.Purged)
		time.Sleep(day)
		require.Equal(w, before, l.Counters())

		idle := w.start(maintenance.Config{})
		time.Sleep(day)
		require.Equal(w, maintenance.Counters{Reconcile: map[string]maintenance.Task{}}, idle.Counters())
	})
}

// What is left to chance is not asserted to less than one in 10^12.
func TestAFleetThatIsStartedAtOnceDoesNotMarchInStep(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		start := time.Now()
		var loops []*maintenance.Loop
		for range 60 {
			loops = append(loops, w.start(maintenance.Config{Sweep: maintenance.Sweep{Every: time.Hour}}))
		}
		runs := make([][]time.Time, len(loops))
		for time.Since(start) < day {
			time.Sleep(10 * time.Second)
			for i, l := range loops {
				if at := l.Counters().Sweep.LastRun; !at.IsZero() && (len(runs[i]) == 0 || at.After(runs[i][len(runs[i])-1])) {
					runs[i] = append(runs[i], at)
				}
			}
		}
		var firsts []time.Duration
		lengths := map[time.Duration]bool{}
		for _, mine := range runs {
			firsts = append(firsts, mine[0].Sub(start))
			require.GreaterOrEqual(w, len(mine), 20)
			for i := 1; i < len(mine); i++ {
				gap := mine[i].Sub(mine[i-1])
				require.GreaterOrEqual(w, gap, 51*time.Minute)
				require.LessOrEqual(w, gap, 69*time.Minute)
				lengths[gap.Round(time.Minute)] = true
			}
		}
		require.Less(w, slices.Min(firsts), 30*time.Minute, "all begin late")
		require.Greater(w, slices.Max(firsts), 30*time.Minute, "all begin early")
		require.LessOrEqual(w, slices.Max(firsts), time.Hour)
		require.Greater(w, len(lengths), 12, "the intervals are all alike")
	})
}

func TestAFleetAsksOncePerIntervalAndNeverTwiceAtOnce(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		var mu sync.Mutex
		var running, runs, most int
		var end []time.Time
		// Ten times as long as a turn is held at a time, and a quarter of the interval.
		run := func(ctx context.Context) error {
			mu.Lock()
			runs++
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(10 * maintenance.Lease)
			mu.Lock()
			running--
			end = append(end, time.Now())
			mu.Unlock()
			return nil
		}
		var loops []*maintenance.Loop
		for range 7 {
			loops = append(loops, w.start(maintenance.Config{Reconcile: []maintenance.Reconcile{{
				Every: 40 * time.Minute, Timeout: time.Hour,
				Run: func(ctx context.Context) (maintenance.Pass, error) { return maintenance.Pass{}, run(ctx) },
			}}}))
		}
		time.Sleep(3 * day)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(w, 1, most, "several asked at once")
		// Ten minutes each, and the interval, but for the jitter and the time until
		// one of them looks again.
		require.LessOrEqual(w, runs, 3*24*60/(34+10))
		require.Greater(w, runs, 3*24*60/(46+10+15))
		var skipped int64
		for _, l := range loops {
			skipped += asked(l).Skipped
			require.Zero(w, asked(l).Errors)
			require.Zero(w, asked(l).Lost)
			require.Less(w, time.Since(later(asked(l).LastSuccess, asked(l).LastSkipped)), 2*time.Hour, "who only looks is alive too")
		}
		require.Greater(w, skipped, int64(runs))
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestAfterAnErrorItIsTriedSoonerAndThenLessAndLessOften(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		var at []time.Time
		var failing = true
		begin := func(context.Context) error {
			at = append(at, time.Now())
			if failing {
				return errors.New("host-canary")
			}
			return nil
		}
		l := w.loop(maintenance.Config{Reconcile: asking(time.Hour, begin)})
		require.NoError(w, l.Start())
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		require.NoError(w, l.Stop(w.Context()))
		for i, want := range []time.Duration{time.Hour / 8, time.Hour / 4, time.Hour / 2, time.Hour, time.Hour} {
			gap := at[i+1].Sub(at[i])
			require.InDelta(w, want, gap, float64(want)*0.16, "gap %d", i)
		}
		c := asked(l)
		require.Equal(w, c.Runs, c.Errors)
		require.Equal(w, "other", c.LastError)
		require.Equal(w, c.LastRun, c.LastErrorAt)
		require.Zero(w, c.LastSuccess)
		require.Contains(w, w.logs.String(), `class=other`)
		require.NotContains(w, w.logs.String(), "canary", "the host's words may hold anything")

		failing, at = false, nil
		require.NoError(w, l.Start())
		time.Sleep(6 * time.Hour)
		require.NoError(w, l.Stop(w.Context()))
		require.Empty(w, asked(l).LastError)
		require.NotZero(w, asked(l).LastSuccess)
		for i := 1; i < len(at); i++ {
			require.InDelta(w, time.Hour, at[i].Sub(at[i-1]), float64(time.Hour)*0.16)
		}
	})
}

// A provider that is down must not be asked by each process in turn, sooner and
// sooner the larger the fleet.
func TestAFailureOfOneIsWaitedOutByAll(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		var mu sync.Mutex
		runs := 0
		for range 20 {
			w.start(maintenance.Config{Reconcile: asking(time.Hour, func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				runs++
				return errors.New("down")
			})})
		}
		time.Sleep(2 * day)
		mu.Lock()
		defer mu.Unlock()
		// Each of them begins with an eighth of the interval.
		require.Less(w, runs, 48*8+1)
		require.Greater(w, runs, 48)
	})
}
