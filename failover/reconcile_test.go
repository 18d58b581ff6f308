package failover_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/maintenance"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

// doubts leaves so many jobs unknown.
func (w *world) doubts(r *failover.Runner, n int) (ids []onejob.JobID) {
	w.Helper()
	for i := range n {
		job, err := r.Run(w.Context(), intent(fmt.Sprint("doubt ", i)))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		ids = append(ids, job.ID)
	}
	return ids
}

func TestReconcileAsksTheProviders(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Die() // does the work, and says nothing
		r := w.runner()
		ids := w.doubts(r, 3)
		var told []failover.Pass
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{Progress: func(p failover.Pass) { told = append(told, p) }})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 3, Ended: 3}, pass)
		require.Len(w, told, 3)
		for _, id := range ids {
			job, _, err := w.op.Get(w.Context(), id)
			w.requireDone(job, err, 0)
		}
		require.Equal(w, []int{3, 0}, w.calls(), "it only looks")
	})
}

func TestReconcileAsksAboutARaceThatNobodyHasWon(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Die()
		r := w.runner()
		ids := w.doubts(r, 2)
		for _, id := range ids {
			_, attempts, err := w.op.Get(w.Context(), id)
			require.NoError(w, err)
			_, err = w.op.DetachAttempt(w.Context(), attempts[0].ID, word)
			require.NoError(w, err)
		}
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Zero(w, pass, "before its deadline an attempt may be under way")
		r = w.runner(func(c *config) { c.Now = func() time.Time { return time.Now().Add(time.Minute) } })
		_, err = w.op.CancelJob(w.Context(), ids[1], word)
		require.NoError(w, err)
		pass, err = r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Ended: 1}, pass, "of the job that is over nothing is to be known")
		job, _, err := w.op.Get(w.Context(), ids[0])
		w.requireDone(job, err, 0)
	})
}

func TestReconcileTakesNoTraceForProofOnlyPastTheGrace(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Refuse(500) // nothing is known of the key
		r := w.runner()
		ids := w.doubts(r, 1)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Open: 1}, pass)
		require.Equal(w, []string{"first unknown"}, w.states(ids[0]))

		later := w.runner(func(c *config) { c.Now = func() time.Time { return time.Now().Add(time.Hour) } })
		pass, err = later.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Ended: 1}, pass)
		require.Equal(w, []string{"first failed"}, w.states(ids[0]))
	})
}

// The attempt may be of an older release: that its answer does not keep the
// contract of now is for somebody to decide, and no reason to do it again.
func TestReconcileLeavesADoubtWhereTheAnswerDoesNotFit(t *testing.T) {
	t.Parallel()
	for _, lie := range []string{"wraps", "other-model"} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 2, func(w *world) {
				w.qualify(1)
				w.servers[0].Die()
				w.servers[0].Lie(lie)
				r := w.runner()
				ids := w.doubts(r, 1)
				pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
				require.NoError(w, err)
				require.Equal(w, failover.Pass{Asked: 1, Open: 1}, pass)
				_, err = r.Run(w.Context(), intent("doubt 0"))
				require.ErrorIs(w, err, onejob.ErrInDoubt)
				require.Equal(w, []string{"first unknown"}, w.states(ids[0]))
				require.Equal(w, []int{1, 0}, w.calls())
			})
		})
	}
}

func TestReconcileIsBoundedAndFair(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Refuse(500)
		now := time.Now()
		r := w.runner(func(c *config) { c.Now = func() time.Time { return now } })
		w.doubts(r, 5)
		o := failover.ReconcileOptions{Limit: 2}
		for _, want := range []failover.Pass{
			{Asked: 2, Open: 2, Later: 1}, {Asked: 2, Open: 2, Later: 3}, {Asked: 1, Open: 1, Later: 4}, {Later: 5},
		} {
			pass, err := r.Reconcile(w.Context(), o)
			require.NoError(w, err)
			require.Equal(w, want, pass)
		}
		now = now.Add(time.Minute) // and then they are asked about again
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, 5, pass.Asked)
		now = now.Add(11 * time.Second) // but less and less often
		pass, err = r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, 0, pass.Asked)
	})
}

// A canceled job's unknown attempt may still have acted, and holds its purge
// back until somebody knows.
func TestReconcileAsksAboutTheUnknownOfACanceledJob(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		r := w.runner()
		ids := w.doubts(r, 1)
		_, err := w.op.CancelJob(w.Context(), ids[0], word)
		require.NoError(w, err)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Ended: 1}, pass)
		require.Equal(w, []string{"first late"}, w.states(ids[0]))
	})
}

// What is refused is told, whatever the limit, and the others have their turn.
func TestReconcileTellsWhatIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		refuses := errors.New("the ledger is closed")
		for name, hook := range map[string]func() error{"error": func() error { return refuses }, "panic": func() error { panic("boom") }} {
			calls := 0
			w.jobs = onejob.New(w.store, &onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
				if calls++; calls%2 == 1 {
					return hook()
				}
				return nil
			}})
			r := w.runner(func(c *config) { c.Kind = name })
			for i := range 4 {
				in := intent(fmt.Sprint(name, i))
				in.Kind = name
				_, err := r.Run(w.Context(), in)
				require.ErrorIs(w, err, onejob.ErrInDoubt)
			}
			pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{Limit: 3})
			require.Error(w, err)
			require.Equal(w, failover.Pass{Asked: 3, Ended: 1, Open: 2, Later: 1}, pass)
			if name == "error" {
				require.ErrorIs(w, err, refuses)
			}
		}
	})
}

// A look-up that says "failed" because its own time was over has found nothing.
func TestReconcileCountsWhatHasEnded(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		w.targets[0] = tellsOf{w.targets[0], provider.Reply{Verdict: provider.Failed, Ref: "handle"}, context.DeadlineExceeded}
		r := w.runner()
		ids := w.doubts(r, 1)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Open: 1}, pass)
		_, attempts, err := w.op.Get(w.Context(), ids[0])
		require.NoError(w, err)
		require.Equal(w, "handle", attempts[0].ExternalRef)
	})
}

type tellsOf struct {
	provider.Provider
	reply provider.Reply
	err   error
}

func (t tellsOf) Resolve(context.Context, provider.Request) (provider.Reply, error) {
	return t.reply, t.err
}

// One provider with many doubts leaves some of the limit to the others.
func TestReconcileSharesItsLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Die()
		w.servers[1].Die()
		r := w.runner()
		w.doubts(r, 4)
		for i := range 2 {
			in := intent(fmt.Sprint("second ", i))
			in.Target = "second"
			_, err := r.Run(w.Context(), in)
			require.ErrorIs(w, err, onejob.ErrInDoubt)
		}
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{Limit: 2})
		require.NoError(w, err)
		require.Equal(w, 2, pass.Ended)
		asked := func(i int) (n int) {
			for _, r := range w.servers[i].Requests() {
				if r.Lookup {
					n++
				}
			}
			return n
		}
		require.Equal(w, []int{1, 1}, []int{asked(0), asked(1)})
	})
}

func TestReconcileLeavesOtherKindsAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		_, _, err := w.jobs.Start(w.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "refund"},
			onejob.Try{Provider: "first", Timeout: time.Millisecond})
		require.NoError(w, err)
		time.Sleep(20 * time.Millisecond)
		pass, err := w.runner().Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Zero(w, pass)
	})
}

func TestReconcileEveryGoesOnUntilItIsStopped(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		r := w.runner()
		ctx, stop := context.WithCancelCause(w.Context())
		done := make(chan error, 1)
		go func() { done <- r.ReconcileEvery(ctx, 10*time.Millisecond, failover.ReconcileOptions{}) }()
		for i := range 3 {
			in := intent(fmt.Sprint(i))
			_, err := r.Run(w.Context(), in)
			require.ErrorIs(w, err, onejob.ErrInDoubt)
			require.Eventually(w, func() bool {
				job, err := w.jobs.GetByKey(w.Context(), in.Owner, in.Key)
				return err == nil && job.State == onejob.JobCompleted
			}, 20*time.Second, 5*time.Millisecond)
		}
		enough := errors.New("enough")
		stop(enough)
		require.ErrorIs(w, <-done, enough)
		require.Error(w, r.ReconcileEvery(w.Context(), 0, failover.ReconcileOptions{}))
	})
}

// Of three processes one asks: package maintenance gives them turns.
func TestAMaintenanceLoopAsksForAFleet(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		ids := w.doubts(w.runner(), 4)
		var loops []*maintenance.Loop
		for range 3 {
			r := w.runner()
			l, err := maintenance.New(w.jobs, maintenance.Config{Reconcile: []maintenance.Reconcile{{
				Name: "order", Every: 300 * time.Millisecond,
				Run: func(ctx context.Context) (maintenance.Pass, error) {
					pass, err := r.Reconcile(ctx, failover.ReconcileOptions{})
					return maintenance.Pass{Asked: pass.Asked, Ended: pass.Ended}, err
				},
			}}})
			require.NoError(w, err)
			require.NoError(w, l.Start())
			w.Cleanup(func() { require.NoError(w, l.Stop(context.Background())) })
			loops = append(loops, l)
		}
		sum := func(of func(c maintenance.Task) int64) (n int64) {
			for _, l := range loops {
				n += of(l.Counters().Reconcile["order"])
			}
			return n
		}
		require.Eventually(w, func() bool {
			return sum(func(c maintenance.Task) int64 { return c.Ended }) == 4 && sum(func(c maintenance.Task) int64 { return c.Skipped }) > 2
		}, 20*time.Second, 5*time.Millisecond)
		require.Equal(w, int64(4), sum(func(c maintenance.Task) int64 { return c.Asked }), "each was asked about once")
		for _, id := range ids {
			job, _, err := w.op.Get(w.Context(), id)
			w.requireDone(job, err, 0)
		}
	})
}

// A provider that replays is asked by sending the call again.
func TestAReplayIsALookUp(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Replay()
		w.servers[0].Die()
		var err error
		w.targets[0], err = provider.Replays(noResolver{w.targets[0]}, time.Hour)
		require.NoError(w, err)
		r := w.runner()
		_, err = r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		w.servers[0].Well()
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
		require.Equal(w, 1, w.servers[0].Executions())
		require.Equal(w, []int{2, 0}, w.calls())
	})
}

// noResolver hides that the provider can be asked.
type noResolver struct{ p provider.Provider }

func (n noResolver) Route() provider.Route { return n.p.Route() }
func (n noResolver) SendsKey() bool        { return true }
func (n noResolver) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	return n.p.Call(ctx, r)
}

// A resolver that ignores its context keeps nobody.
func TestADeafResolverIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.servers[0].Die()
		var asked atomic.Int32
		release := make(chan struct{})
		defer close(release)
		w.targets[0] = deafResolver{w.targets[0], release, &asked}
		r := w.runner()
		w.doubts(r, 1)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{Timeout: 50 * time.Millisecond})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Open: 1}, pass)
		require.Equal(w, int32(1), asked.Load())
	})
}

type deafResolver struct {
	provider.Provider
	release chan struct{}
	asked   *atomic.Int32
}

func (p deafResolver) Resolve(context.Context, provider.Request) (provider.Reply, error) {
	p.asked.Add(1)
	<-p.release
	return provider.Reply{}, nil
}

// A look-up by a key that was never sent finds nothing, whatever was done.
func TestNoTraceOfACallWithoutAKeyProvesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Die()
		plain := w.servers[0].Config("first")
		plain.KeyHeader = ""
		p, err := chat.New(plain)
		require.NoError(w, err)
		w.targets[0] = tellsNothing{p}
		r := w.runner(func(c *failover.Config) { c.Now = func() time.Time { return time.Now().Add(time.Hour) } })
		ids := w.doubts(r, 1)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Open: 1}, pass)
		require.Equal(w, []string{"first unknown"}, w.states(ids[0]))
	})
}

type tellsNothing struct{ *chat.Provider }

func (tellsNothing) Resolve(context.Context, provider.Request) (provider.Reply, error) {
	return provider.Reply{Verdict: provider.NotStarted}, nil
}
