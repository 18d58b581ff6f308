package failover_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
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
		_, err := w.op.CancelJob(w.Context(), ids[1], word)
		require.NoError(w, err)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
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

// An answer that is found later is an answer like any other.
func TestReconcileDiscardsWhatBreaksTheContract(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Die()
		w.servers[0].Lie("wraps")
		r := w.runner()
		ids := w.doubts(r, 1)
		pass, err := r.Reconcile(w.Context(), failover.ReconcileOptions{})
		require.NoError(w, err)
		require.Equal(w, failover.Pass{Asked: 1, Ended: 1}, pass)
		require.Equal(w, []string{"first failed"}, w.states(ids[0]))
	})
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

// A provider that replays is asked by sending the call again.
func TestAReplayIsALookUp(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Replay()
		w.servers[0].Die()
		w.targets[0] = provider.Replays(noResolver{w.targets[0]}, time.Hour)
		r := w.runner()
		_, err := r.Run(w.Context(), intent("k"))
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
