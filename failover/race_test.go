package failover_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/onejobtest"
	"github.com/onejob-go/onejob/provider"
)

func racing(c *config) { c.Patience = 100 * time.Millisecond }

func (w *world) waitAll(r *failover.Runner) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	require.NoError(w, r.Wait(ctx))
}

func TestTheFirstOfTwoThatRaceWins(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Hang()
		r := w.runner(racing)
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
		require.Equal(w, []int{1, 1}, w.calls())
		require.Equal(w, []string{"first detached", "second succeeded"}, w.states(job.ID))
		_, attempts, err := w.op.Get(w.Context(), job.ID)
		require.NoError(w, err)
		require.Equal(w, "failover", attempts[0].By)
		require.Contains(w, attempts[0].Reason, "patience")

		w.servers[0].Release()
		w.waitAll(r)
		require.Equal(w, []string{"first late", "second succeeded"}, w.states(job.ID))
		again, err := r.Run(w.Context(), intent("k"))
		w.requireDone(again, err, 1)
	})
}

func TestTheSlowOneMayStillWin(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Hang()
		w.servers[1].Hang()
		w.servers[1].Arrived(func(chattestRequest) { w.servers[0].Release() })
		r := w.runner(racing)
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
		w.servers[1].Release()
		w.waitAll(r)
		require.Equal(w, []string{"first succeeded", "second late"}, w.states(job.ID))
	})
}

// A race asks nobody who has not proven himself, and detaches nothing for him.
func TestARaceWaitsWhereTheNextIsNotQualified(t *testing.T) {
	t.Parallel()
	for reason, spoil := range unprove {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 2, func(w *world) {
				spoil(w, 1)
				w.servers[1].Forget()
				w.servers[0].Wait(400 * time.Millisecond)
				job, err := w.runner(racing).Run(w.Context(), intent("k"))
				w.requireDone(job, err, 0)
				require.Equal(w, []string{"first succeeded"}, w.states(job.ID))
				require.Zero(w, w.calls()[1])
			})
		})
	}
}

func TestARaceWithoutAContractIsAWordOfItsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Hang()
		w.servers[1].Lie("trailing-prose")
		r := w.runner(racing, func(c *config) { c.Contract, c.Unproven, c.By = nil, true, "night shift" })
		job, err := r.Run(w.Context(), intent("k"))
		require.NoError(w, err)
		require.Contains(w, string(job.Result), "I hope this helps")
		_, attempts, err := w.op.Get(w.Context(), job.ID)
		require.NoError(w, err)
		require.Equal(w, "night shift", attempts[0].By)
	})
}

// What was detached and has not answered may have acted: a walk that has nobody
// left says so, and does not call it a failure.
func TestARaceThatNobodyWinsIsInDoubt(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Hang()
		w.servers[1].Refuse(http.StatusTooManyRequests)
		r := w.runner(func(c *config) { c.Patience, c.Timeout = 100*time.Millisecond, 3*time.Second })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.NotErrorIs(w, err, failover.ErrNoTargetLeft, "a host that takes that for a failure would refund what may have been done")
		var e *failover.Error
		require.ErrorAs(w, err, &e)
		require.ErrorIs(w, e.Then, failover.ErrNoTargetLeft)
		require.Equal(w, []string{"first detached", "second failed"}, w.states(job.ID))
		w.servers[0].Release() // what it would say now, it says to whoever asks
		job, err = r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
		require.Equal(w, []int{1, 1}, w.calls(), "it was asked before anybody else was called")
	})
}

// A provider whose attempt was detached is not called again: it may still act on
// that one.
func TestADetachedAttemptKeepsItsProviderFromASecond(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Hang()
		w.servers[1].Refuse(http.StatusTooManyRequests)
		r := w.runner(func(c *config) { c.Timeout = 2 * time.Second })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		_, err = w.op.DetachAttempt(w.Context(), job.Attempt.ID, word)
		require.NoError(w, err)
		for range 2 {
			_, err = r.Run(w.Context(), intent("k"))
			require.ErrorIs(w, err, onejob.ErrInDoubt)
		}
		require.Equal(w, []int{1, 2}, w.calls())
		w.servers[1].Well()
		job, err = r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
	})
}

// A doubt outweighs that the next is not qualified.
func TestADetachedDoubtOutweighsAMissingProof(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Hang()
		r := w.runner(func(c *config) { c.Timeout = 2 * time.Second })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		_, err = w.op.DetachAttempt(w.Context(), job.Attempt.ID, word)
		require.NoError(w, err)
		_, err = r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.NotErrorIs(w, err, onejob.ErrNotQualified)
		var e *failover.Error
		require.ErrorAs(w, err, &e)
		require.ErrorIs(w, e.Then, onejob.ErrNotQualified)
	})
}

func TestNoMoreRunAtOnceThanRacers(t *testing.T) {
	t.Parallel()
	for racers, want := range map[int][]int{0: {1, 1, 0}, 3: {1, 1, 1}} {
		onBoth(t, 3, func(w *world) {
			w.qualify(1, 2)
			for _, s := range w.servers {
				s.Hang()
			}
			r := w.runner(racing, func(c *config) { c.Racers = racers })
			done := make(chan error)
			go func() { _, err := r.Run(w.Context(), intent("k")); done <- err }()
			require.Eventually(w, func() bool { return slices.Equal(want, w.calls()) }, 20*time.Second, 10*time.Millisecond)
			time.Sleep(400 * time.Millisecond) // four times the patience
			require.Equal(w, want, w.calls())
			w.servers[0].Release()
			require.NoError(w, <-done)
		})
	}
}

func TestWhatFailsWithinThePatienceIsNoRace(t *testing.T) {
	t.Parallel()
	onBoth(t, 3, func(w *world) {
		w.qualify(1, 2)
		w.servers[0].Refuse(http.StatusTooManyRequests)
		w.servers[1].Lie("constant")
		job, err := w.runner(func(c *config) { c.Patience = 10 * time.Second }).Run(w.Context(), intent("k"))
		w.requireDone(job, err, 2)
		require.Equal(w, []string{"first failed", "second failed", "third succeeded"}, w.states(job.ID))
	})
}

// A panic of one that races reaches the caller, or where nobody waits any more
// the log; never the whole process.
func TestAPanicInARace(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		release := make(chan struct{})
		w.targets[0] = panicsLater{w.targets[0], release}
		r := w.runner(racing)
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
		close(release)
		w.waitAll(r)
		require.Equal(w, []string{"first detached", "second succeeded"}, w.states(job.ID))
	})
}

type panicsLater struct {
	provider.Provider
	release chan struct{}
}

func (p panicsLater) Call(context.Context, provider.Request) (provider.Reply, error) {
	<-p.release
	panic("boom")
}

// The caller has gone when the walk ends: what it is told must still be true.
func TestADoubtIsToldToWhoHasGone(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Hang()
		w.servers[1].Refuse(http.StatusTooManyRequests)
		ctx, leave := context.WithCancel(w.Context())
		w.servers[1].Arrived(func(chattestRequest) { leave() })
		r := w.runner(func(c *config) { c.Patience, c.Timeout = 100*time.Millisecond, 3*time.Second })
		_, err := r.Run(ctx, intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.NotErrorIs(w, err, failover.ErrNoTargetLeft)
	})
}

// One that was let run, and whose deadline has passed, may still be at work.
func TestADeafRacerCounts(t *testing.T) {
	t.Parallel()
	onBoth(t, 3, func(w *world) {
		w.qualify(1, 2)
		release := make(chan struct{})
		for i := range w.targets {
			w.targets[i] = deaf{w.targets[i], release}
		}
		r := w.runner(func(c *config) { c.Patience, c.Timeout = 150*time.Millisecond, 3*time.Second })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.Len(w, w.states(job.ID), 2)
		close(release)
		w.waitAll(r)
	})
}

// Nobody was asked: an attempt whose beginning got no answer does not stay in
// doubt.
func TestALostBeginningLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Store, 1, errand{})
	r := w.runner()
	env.CutReplyThenDown()
	_, err := r.Run(t.Context(), intent("k"))
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	env.Up()
	w.waitAll(r)
	require.Equal(t, onejob.StatusPending, must(w.jobs.GetByKey(t.Context(), "owner-1", "k")).Status())
	require.Equal(t, []int{0}, w.calls())
	job, err := r.Run(t.Context(), intent("k"))
	w.requireDone(job, err, 0)
}
