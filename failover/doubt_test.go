package failover_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
)

// endings are the ways in which a doubt ends, and who completes the job then.
var endings = map[string]struct {
	by  int
	end func(w *world, a onejob.AttemptID)
}{
	"the provider is asked": {0, func(w *world, _ onejob.AttemptID) { w.servers[0].Release() }},
	"an operator refutes": {1, func(w *world, a onejob.AttemptID) {
		_, err := w.op.Refute(w.Context(), a, word)
		require.NoError(w, err)
	}},
	"an operator cancels": {1, func(w *world, a onejob.AttemptID) {
		_, err := w.op.CancelAttempt(w.Context(), a, word)
		require.NoError(w, err)
	}},
	"an operator detaches": {1, func(w *world, a onejob.AttemptID) {
		_, err := w.op.DetachAttempt(w.Context(), a, word)
		require.NoError(w, err)
	}},
}

func TestAfterATimeoutNobodyIsCalledUntilTheDoubtEnds(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 2, func(w *world) {
				w.qualify(1)
				w.servers[0].Hang()
				r := w.runner(func(c *config) { c.Timeout = 2 * time.Second })
				_, err := r.Run(w.Context(), intent("k"))
				require.ErrorIs(w, err, onejob.ErrInDoubt)
				var e *failover.Error
				require.ErrorAs(w, err, &e)
				require.Equal(w, "first", e.Provider)
				require.Equal(w, onejob.StateUnknown, e.Attempt.State)
				for range 3 {
					_, err = r.Run(w.Context(), intent("k"))
					require.ErrorIs(w, err, onejob.ErrInDoubt)
				}
				require.Equal(w, []int{1, 0}, w.calls())

				ending.end(w, e.Attempt.ID)
				job, err := r.Run(w.Context(), intent("k"))
				w.requireDone(job, err, ending.by)
				require.Equal(w, []int{1, ending.by}, w.calls())

				// What the first one says now changes nothing.
				w.servers[0].Release()
				ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
				defer cancel()
				require.NoError(w, r.Wait(ctx))
				again, err := r.Run(w.Context(), intent("k"))
				w.requireDone(again, err, ending.by)
			})
		})
	}
}

// Each of these may have acted. None lets the next target run.
func TestADoubtOfAnyKindStopsTheWalk(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(w *world){
		"closes without an answer": func(w *world) { w.servers[0].Die() },
		"ends the body early":      func(w *world) { w.servers[0].CutBody() },
		"internal error":           func(w *world) { w.servers[0].Refuse(http.StatusInternalServerError) },
		"bad gateway":              func(w *world) { w.servers[0].Refuse(http.StatusBadGateway) },
		"no verdict":               func(w *world) { w.targets[0] = reply(w.targets[0], provider.Reply{}, nil) },
		"no verdict, dial refused": func(w *world) { w.targets[0] = reply(w.targets[0], provider.Reply{}, dialError()) },
		"not started, context over": func(w *world) {
			w.targets[0] = reply(w.targets[0], provider.Reply{Verdict: provider.NotStarted}, context.DeadlineExceeded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 2, func(w *world) {
				w.qualify(1)
				trouble(w)
				_, err := w.runner().Run(w.Context(), intent("k"))
				require.ErrorIs(w, err, onejob.ErrInDoubt)
				require.Zero(w, w.calls()[1])
				require.LessOrEqual(w, w.calls()[0], 1)
			})
		})
	}
}

// Each of these has done nothing, or is discarded: the next target runs.
func TestWhatIsKnownToBeOverLetsTheNextRun(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(w *world){
		"too many requests": func(w *world) { w.servers[0].Refuse(http.StatusTooManyRequests) },
		"unauthorized":      func(w *world) { w.servers[0].Refuse(http.StatusUnauthorized) },
		"nobody listens":    func(w *world) { w.servers[0].Close() },
		"another model":     func(w *world) { w.servers[0].Lie("other-model") },
		"cut off":           func(w *world) { w.servers[0].Lie("cuts-off") },
		"cut off, and valid by chance": func(w *world) {
			w.targets[0] = reply(w.targets[0], provider.Reply{Verdict: provider.Done, Cut: true,
				Output: []byte(`{"total":360,"unit":"cents","items":1,"comment":"o"}`)}, nil)
		},
		"key twice":    func(w *world) { w.servers[0].Lie("duplicates-key") },
		"wrong answer": func(w *world) { w.servers[0].Lie("constant") },
		"failed": func(w *world) {
			w.targets[0] = reply(w.targets[0], provider.Reply{Verdict: provider.Failed}, errors.New("failed"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 2, func(w *world) {
				w.qualify(1)
				trouble(w)
				job, err := w.runner().Run(w.Context(), intent("k"))
				w.requireDone(job, err, 1)
				require.Equal(w, []string{"first failed", "second succeeded"}, w.states(job.ID))
				require.Equal(w, 1, w.calls()[1])
				require.LessOrEqual(w, w.calls()[0], 1)
			})
		})
	}
}

func TestARefusalIsTheAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.targets[0] = reply(w.targets[0], provider.Reply{Verdict: provider.Done, Refusal: true, Output: []byte("no")}, nil)
		job, err := w.runner().Run(w.Context(), intent("k"))
		require.NoError(w, err)
		require.Equal(w, []byte("no"), job.Result)
		require.Zero(w, w.calls()[1])
	})
}

// The deadline is the runner's: a provider that ignores its context does not
// keep the caller, and its answer counts when it comes.
func TestADeafProviderIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		release := make(chan struct{})
		w.targets[0] = deaf{w.targets[0], release}
		r := w.runner(short)
		_, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		close(release)
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		defer cancel()
		require.NoError(w, r.Wait(ctx))
		job, err := w.jobs.GetByKey(w.Context(), "owner-1", "k")
		w.requireDone(job, err, 0)
	})
}

func TestManyWorkersOnOneJobCallOneProvider(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Wait(50 * time.Millisecond)
		runners := []*failover.Runner{w.runner(), w.runner(func(c *config) { c.Providers[0], c.Providers[1] = w.targets[1], w.targets[0] })}
		var group sync.WaitGroup
		for i := range 32 {
			group.Go(func() {
				job, err := runners[i%2].Run(w.Context(), intent("k"))
				if err != nil {
					require.ErrorIs(w, err, onejob.ErrAttemptOpen)
					return
				}
				require.Equal(w, onejob.JobCompleted, job.State)
			})
		}
		group.Wait()
		calls := w.calls()
		require.Equal(w, 1, calls[0]+calls[1])
		require.Len(w, w.states(must(w.jobs.GetByKey(w.Context(), "owner-1", "k")).ID), 1)
	})
}

func TestAPanicLeavesTheAttemptUnknown(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.targets[0] = panics{w.targets[0]}
		r := w.runner()
		require.PanicsWithValue(w, "boom", func() { r.Run(w.Context(), intent("k")) })
		_, err := w.runner().Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.Zero(w, w.calls()[1])
	})
}
