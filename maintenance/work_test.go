package maintenance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/maintenance"
)

func TestASweepTakesAllThatIsOverdue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		for i := range 25 {
			_, _, err := w.jobs.Start(w.Context(), intent(fmt.Sprint("k", i)), onejob.Try{Provider: "p", Timeout: time.Millisecond})
			require.NoError(w, err)
		}
		w.until("all are overdue", func() bool { return w.stats().Unknown == 25 })
		_, _, err := w.jobs.Start(w.Context(), intent("running"), onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(w, err)
		l := w.loop(maintenance.Config{Sweep: maintenance.Sweep{Every: time.Hour, Limit: 10}})
		maintenance.SetRandom(l, func(time.Duration) time.Duration { return 0 }) // it begins at once
		require.NoError(w, l.Start())
		w.until("it has run", func() bool { return !l.Counters().Sweep.LastSuccess.IsZero() })
		require.NoError(w, l.Stop(w.Context()))
		c := l.Counters().Sweep
		require.Equal(w, []int64{1, 25}, []int64{c.Runs, c.Swept}, "three steps of one run")
		require.Zero(w, c.Errors+c.Full+c.Skipped)
		require.False(w, c.LastSuccess.IsZero())
		require.Equal(w, int64(1), w.stats().Started)
	})
}

func TestAnAskingEndsDoubtsAndCountsThem(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.doubt(6)
		l := w.start(maintenance.Config{Reconcile: []maintenance.Reconcile{{
			Name: "charges", Every: 200 * time.Millisecond,
			Run: maintenance.Ask(w.jobs, onejob.Filter{Kind: "charge"}, func(_ context.Context, job onejob.Job, _ onejob.Attempt) ([]byte, error) {
				switch job.Key {
				case "doubt-0", "doubt-1":
					return []byte("charged"), nil
				case "doubt-2":
					return nil, onejob.NoEffect(errors.New("never heard of it"))
				case "doubt-3":
					return nil, nil
				}
				return nil, errors.New("canary: cannot tell")
			}),
		}}})
		w.until("it was asked twice", func() bool { return l.Counters().Reconcile["charges"].Runs > 2 })
		require.NoError(w, l.Stop(w.Context()))
		c := l.Counters().Reconcile["charges"]
		require.Equal(w, int64(3), c.Ended)
		require.LessOrEqual(w, c.Asked, 6+3*(c.Runs-1))
		require.GreaterOrEqual(w, c.Asked, 6+3*(c.Runs-2), "but the run in which it was stopped")
		require.Zero(w, c.Errors)
		s := w.stats()
		require.Equal(w, []int64{2, 3}, []int64{s.Completed, s.Unknown})
		require.NotContains(w, w.logs.String(), "canary")
	})
}

func TestAPurgeGoesInStepsAndLeavesTheRestToTheNext(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.final(25)
		w.doubt(1)
		l := w.start(maintenance.Config{Purge: maintenance.Purge{
			Every: 200 * time.Millisecond, Limit: 4, MaxPerTurn: 10, Pause: time.Millisecond, Retention: onejob.Retention{Payloads: time.Microsecond},
		}})
		most := int64(0)
		w.until("all is purged", func() bool {
			c := l.Counters().Purge
			if !c.Running {
				require.LessOrEqual(w, c.Purged, 10*c.Runs)
			}
			most = max(most, c.Purged)
			return w.stats().Purged == 25
		})
		w.until("it has run to its end", func() bool { return l.Counters().Purge.Runs > 3 })
		c := l.Counters().Purge
		require.Equal(w, int64(25), c.Purged)
		require.Equal(w, int64(2), c.Full, "two runs of ten, and one of five")
		require.Zero(w, c.Errors)
		require.Equal(w, int64(1), w.stats().Unknown)
	})
}

// While it is down runs fail and do not pile up; when it is back they go on, and
// nobody has to start anything.
func TestADatabaseThatIsRestartedIsWaitedFor(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster, err := dbtest.Start()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
		dsn := cluster.DSN("postgres")
		store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), nil)
		require.NoError(t, err)
		require.NoError(t, store.Migrate(t.Context()))
		w := newWorld(t, store, errand{DSN: dsn})
		w.final(20)
		restarted(w, cluster.Kill, cluster.Boot)
		w.invariants()
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		// The nearest thing: the file is locked by a process that does not let go.
		path := dbtest.SQLitePath(t)
		w := newWorld(t, dbtest.OpenSQLite(t, path), errand{File: path})
		w.final(20)
		conn, err := w.sqlite().Conn(t.Context())
		require.NoError(t, err)
		exec := func(command string) func() error {
			return func() error { _, err := conn.ExecContext(context.Background(), command); return err }
		}
		restarted(w, exec("BEGIN IMMEDIATE"), exec("ROLLBACK"))
	})
}

func restarted(w *world, down, up func() error) {
	every := 300 * time.Millisecond
	c := maintenance.Config{
		Sweep:     maintenance.Sweep{Every: every},
		Purge:     maintenance.Purge{Every: every, Limit: 1, MaxPerTurn: 3, Pause: 20 * time.Millisecond, Retention: onejob.Retention{Payloads: time.Microsecond}},
		Reconcile: asking(every, func(ctx context.Context) error { _, err := w.op.Stats(ctx); return err }),
	}
	loops := []*maintenance.Loop{w.loop(c), w.loop(c)}
	for _, l := range loops {
		maintenance.SetLease(l, 3*time.Second)
		require.NoError(w, l.Start())
		w.Cleanup(func() { require.NoError(w, l.Stop(context.Background())) })
	}
	sum := func(of func(c maintenance.Task) int64, task func(c maintenance.Counters) maintenance.Task) (n int64) {
		for _, l := range loops {
			n += of(task(l.Counters()))
		}
		return n
	}
	tasks := map[string]func(c maintenance.Counters) maintenance.Task{
		"sweep":     func(c maintenance.Counters) maintenance.Task { return c.Sweep },
		"purge":     func(c maintenance.Counters) maintenance.Task { return c.Purge },
		"reconcile": func(c maintenance.Counters) maintenance.Task { return c.Reconcile["default"] },
	}
	for name, task := range tasks {
		w.until(name+" runs", func() bool { return sum(func(c maintenance.Task) int64 { return c.Runs }, task) > 1 })
	}
	require.NoError(w, down())
	for _, name := range []string{"sweep", "purge"} {
		w.until(name+" fails", func() bool { return sum(func(c maintenance.Task) int64 { return c.Errors }, tasks[name]) > 1 })
		require.Contains(w, w.logs.String(), "class=unavailable")
	}
	require.NoError(w, up())
	back := time.Now()
	for name, task := range tasks {
		w.until(name+" runs again", func() bool {
			for _, l := range loops {
				if task(l.Counters()).LastSuccess.After(back) {
					return true
				}
			}
			return false
		})
	}
	w.until("all is purged", func() bool { return w.stats().Purged == 20 })
}
