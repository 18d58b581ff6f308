package maintenance_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

func TestAPanicOfTheHostsCodeIsCountedAndTheLoopGoesOn(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){
		"a panic":                   func() { panic("host-canary") },
		"a nil panic":               func() { var p *int; *p = 1 },
		"the end of the goroutine":  runtime.Goexit,
		"a panic with a long story": func() { panic(errors.New("host-canary")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inNoTime(t, func(w *world) {
				l := w.start(maintenance.Config{
					Sweep:     maintenance.Sweep{Every: time.Hour},
					Reconcile: asking(time.Hour, func(context.Context) error { fail(); return nil }),
				})
				time.Sleep(day)
				synctest.Wait()
				c := asked(l)
				require.Greater(w, c.Panics, int64(10))
				require.Equal(w, c.Panics, c.Errors)
				require.Equal(w, c.Panics, c.Runs)
				require.Equal(w, "panic", c.LastError)
				require.False(w, c.Running)
				require.Greater(w, l.Counters().Sweep.Runs, int64(20))
				require.Contains(w, w.logs.String(), "behave_test.go", "the log says where")
				require.NotContains(w, w.logs.String(), "host-canary")
			})
		})
	}
}

func TestASlowTaskHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		var running, most, begun atomic.Int64
		hang := func(ctx context.Context) error {
			begun.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		c := maintenance.Config{
			Sweep:     maintenance.Sweep{Every: time.Minute},
			Purge:     maintenance.Purge{Every: time.Minute, Retention: onejob.Retention{Payloads: time.Hour}},
			Reconcile: asking(time.Minute, hang),
		}
		c.Reconcile[0].Timeout = time.Hour
		l := w.start(c)
		time.Sleep(4 * time.Hour)
		require.Equal(w, int64(1), most.Load(), "runs pile up")
		require.InDelta(w, 4, begun.Load(), 1, "each has its hour")
		require.Equal(w, "timeout", asked(l).LastError)
		require.True(w, asked(l).Running)
		require.Less(w, time.Since(asked(l).LastRun), 61*time.Minute)
		require.Greater(w, l.Counters().Sweep.Runs, int64(200))
		require.Greater(w, l.Counters().Purge.Runs, int64(200))
	})
}

// Host's code that ignores its context cannot be ended. It must not keep the
// turn from the others, nor the loop from being stopped.
func TestARunThatHangsGivesItsTurnUp(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		release := make(chan struct{})
		var hung atomic.Int64
		c := maintenance.Config{Reconcile: asking(10*time.Minute, func(context.Context) error {
			hung.Add(1)
			<-release
			return errors.New("too late")
		})}
		hanging := w.loop(c)
		require.NoError(w, hanging.Start())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Equal(w, int64(1), hung.Load())
		begun := asked(hanging).LastRun
		well := w.start(maintenance.Config{Reconcile: asking(time.Minute, func(context.Context) error { return nil })})
		for asked(well).Runs == 0 {
			require.Less(w, time.Since(begun), 10*time.Minute+4*maintenance.Lease, "the turn is kept")
			time.Sleep(time.Second)
		}
		require.Greater(w, time.Since(begun), 10*time.Minute, "the turn was given away too early")
		time.Sleep(3 * time.Hour)
		require.Equal(w, int64(1), hung.Load(), "runs pile up")
		require.True(w, asked(hanging).Running)

		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.ErrorIs(w, hanging.Stop(ctx), context.DeadlineExceeded)
		require.ErrorContains(w, hanging.Start(), "has not ended yet")
		close(release)
		require.NoError(w, hanging.Stop(w.Context()))
		require.False(w, asked(hanging).Running)
	})
}

func TestAStoreThatGivesNoTurnsLetsEveryProcessRun(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		w.jobs = onejob.New(struct {
			onejob.Store
			onejob.OperatorStore
		}{w.store, w.store.(onejob.OperatorStore)}, nil)
		w.final(3)
		c := maintenance.Config{
			Purge:     maintenance.Purge{Every: time.Hour, Retention: onejob.Retention{Payloads: time.Minute}},
			Reconcile: asking(time.Hour, func(context.Context) error { return nil }),
		}
		one, two := w.start(c), w.start(c)
		time.Sleep(day)
		for _, l := range []*maintenance.Loop{one, two} {
			require.Greater(w, l.Counters().Purge.Runs, int64(18))
			require.Greater(w, asked(l).Runs, int64(18))
			require.Zero(w, asked(l).Skipped+asked(l).Errors+l.Counters().Purge.Errors)
		}
		require.Equal(w, 2, strings.Count(w.logs.String(), "gives no turns"), "one line of each loop")
		require.Equal(w, int64(3), w.stats().Purged)
	})
}

// A turn that another process has taken while this one was paused ends the run:
// it is at work already.
func TestALostTurnEndsTheRun(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		var cause error
		l := w.start(maintenance.Config{Reconcile: asking(time.Hour, func(ctx context.Context) error {
			// As after a pause: the row is another's by now.
			_, err := w.sqlite().Exec(`UPDATE onejob_turns SET holder = 'another'`)
			require.NoError(w, err)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})})
		for asked(l).Lost == 0 {
			time.Sleep(time.Second)
		}
		c := asked(l)
		require.ErrorContains(w, cause, "another process has the turn")
		require.Less(w, time.Since(c.LastRun), maintenance.Lease, "it ended by its timeout")
		require.Zero(w, c.Errors)
		require.Zero(w, c.Stopped)
		require.Contains(w, w.logs.String(), "the turn was lost")
	})
}

func TestReconcilesOfOtherNamesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	inNoTime(t, func(w *world) {
		run := func(context.Context) (maintenance.Pass, error) { return maintenance.Pass{Asked: 3, Ended: 2}, nil }
		asks := func(name string) maintenance.Reconcile {
			return maintenance.Reconcile{Name: name, Every: time.Hour, Run: run}
		}
		both := w.start(maintenance.Config{Reconcile: []maintenance.Reconcile{asks("charges"), asks("mails"), {Name: "off", Run: run}}})
		other := w.start(maintenance.Config{Reconcile: []maintenance.Reconcile{asks("reports")}})
		time.Sleep(day)
		require.Len(w, both.Counters().Reconcile, 2)
		for _, c := range []maintenance.Task{
			both.Counters().Reconcile["charges"], both.Counters().Reconcile["mails"], other.Counters().Reconcile["reports"],
		} {
			require.Greater(w, c.Runs, int64(18))
			require.Zero(w, c.Skipped)
			require.Equal(w, 3*c.Runs, c.Asked)
			require.Equal(w, 2*c.Runs, c.Ended)
		}
	})
}
