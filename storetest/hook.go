package storetest

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("OnComplete",
	testCase{
		name:  "runs once for the winner on every path",
		why:   "whoever completes a job, the host's rows are written once and in the same commit",
		needs: []ability{transactions, operating},
		run: func(h *harness) {
			hook := h.hook(nil)
			for key, complete := range completions {
				job := complete(h, key)
				require.Equal(h, onejob.JobCompleted, job.State, key)
				require.Equal(h, 1, hook.runs(key), key)
				require.Equal(h, 1, h.hostRows(key), key)
			}
		},
	},
	testCase{
		name:  "never runs for a loser",
		why:   "a result that is thrown away must leave no row of the host's",
		needs: []ability{transactions},
		run: func(h *harness) {
			hook := h.hook(nil)
			for _, state := range []onejob.State{onejob.StateFailed, onejob.StateCanceled, onejob.StateLate} {
				key := string(state)
				_, a := h.inState(key, state)
				before, rows := hook.total(), h.hostRows(key)
				_, err := h.jobs.Complete(h.ctx, a, []byte("the loser's"))
				require.ErrorIs(h, err, onejob.ErrLateResult)
				_, err = h.op.Confirm(h.ctx, a.ID, []byte("the loser's"), someone)
				require.Error(h, err)
				require.Equal(h, before, hook.total(), key)
				require.Equal(h, rows, h.hostRows(key), key)
			}
			before := hook.total()
			job, a := h.start("withdrawn")
			_, err := h.op.CancelJob(h.ctx, job.ID, someone)
			require.NoError(h, err)
			_, err = h.jobs.Complete(h.ctx, a, []byte("the loser's"))
			require.ErrorIs(h, err, onejob.ErrLateResult)
			require.Equal(h, before, hook.total())
			require.Zero(h, h.hostRows("withdrawn"))
		},
	},
	testCase{
		name:  "runs once when 8 attempts race",
		why:   "of attempts that complete at one instant one wins, and the host's rows are the winner's alone",
		needs: []ability{transactions},
		run: func(h *harness) {
			hook := h.hook(nil)
			_, attempts := h.racers("k", 8)
			errs := make([]error, len(attempts))
			together(len(attempts), func(i int) {
				_, errs[i] = h.jobs.Complete(h.ctx, attempts[i], []byte(attempts[i].ID))
			})
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					require.ErrorIs(h, err, onejob.ErrLateResult)
				}
			}
			require.Equal(h, 1, won)
			require.Equal(h, 1, hook.total())
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
	testCase{
		name:  "does not run again for the winner's repeats",
		why:   "Complete is safe to repeat, so a repeat must not write the host's rows a second time",
		needs: []ability{transactions},
		run: func(h *harness) {
			hook := h.hook(nil)
			_, a := h.start("k")
			for range 3 {
				h.complete(a, "result")
			}
			_, err := h.jobs.Complete(h.ctx, a, []byte("another"))
			require.ErrorIs(h, err, onejob.ErrResultMismatch)
			require.Equal(h, 1, hook.total())
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
	testCase{
		name:  "does not run in CompleteTx",
		why:   "whoever calls CompleteTx has a transaction at hand and writes its rows there",
		needs: []ability{transactions},
		run: func(h *harness) {
			hook := h.hook(nil)
			_, a := h.start("k")
			require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
				return err
			}))
			require.Zero(h, hook.total())
			require.Zero(h, h.hostRows("k"))
		},
	},
	testCase{
		name:  "gets the completed job",
		why:   "what the host writes beside the job is made from the job and its result",
		needs: []ability{transactions},
		run: func(h *harness) {
			hook := h.hook(nil)
			_, a := h.start("k")
			done := h.complete(a, "result")
			given := hook.jobs[0]
			require.Equal(h, done, given)
			require.Equal(h, onejob.JobCompleted, given.State)
			require.Equal(h, int64(2), given.Version)
			require.Equal(h, []byte("result"), given.Result)
			require.Equal(h, intent("k").Params, given.Params)
			require.Equal(h, a.ID, given.Attempt.ID)
			require.Equal(h, onejob.StateSucceeded, given.Attempt.State)
			require.False(h, given.EndedAt.IsZero())
		},
	},
	testCase{
		name:  "gets a live context from one that has ended",
		why:   "a result that comes after a timeout is completed on the library's own time, the hook with it",
		needs: []ability{transactions},
		run: func(h *harness) {
			var seen error
			hook := h.hook(func(ctx context.Context, _ *sql.Tx, _ onejob.Job) error {
				seen = ctx.Err()
				return nil
			})
			_, a := h.start("k")
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			_, err := h.jobs.Complete(ctx, a, []byte("result"))
			require.NoError(h, err)
			require.NoError(h, seen)
			require.Equal(h, 1, hook.runs("k"))
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
)

// completions are the ways to complete a job; each makes a job with the key.
var completions = map[string]func(h *harness, key string) onejob.Job{
	"Complete": func(h *harness, key string) onejob.Job {
		_, a := h.start(key)
		return h.complete(a, "result")
	},
	"Do": func(h *harness, key string) onejob.Job {
		job, err := h.jobs.Do(h.ctx, intent(key), try("primary"),
			func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return []byte("result"), nil })
		require.NoError(h, err)
		return job
	},
	"Confirm": func(h *harness, key string) onejob.Job {
		_, a := h.inState(key, onejob.StateUnknown)
		job, err := h.op.Confirm(h.ctx, a.ID, []byte("result"), someone)
		require.NoError(h, err)
		return job
	},
	"Reconcile": func(h *harness, key string) onejob.Job {
		job, _ := h.inState(key, onejob.StateUnknown)
		_, err := h.op.Reconcile(h.ctx, onejob.Filter{}, h.found)
		require.NoError(h, err)
		job, err = h.jobs.Get(h.ctx, job.Owner, job.ID)
		require.NoError(h, err)
		return job
	},
}

// found is what a provider tells that has acted.
func (h *harness) found(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
	return []byte("result"), nil
}

// hookLog is what OnComplete was given.
type hookLog struct {
	mu   sync.Mutex
	jobs []onejob.Job
}

func (l *hookLog) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jobs)
}

func (l *hookLog) runs(key string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, job := range l.jobs {
		if job.Key == key {
			n++
		}
	}
	return n
}

// hook makes the host's table, and has OnComplete write a row named by the
// job's key and then do what also says.
func (h *harness) hook(also func(ctx context.Context, tx *sql.Tx, job onejob.Job) error) *hookLog {
	h.Helper()
	h.hostTable()
	l := &hookLog{}
	h.use(onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
		l.mu.Lock()
		l.jobs = append(l.jobs, job)
		l.mu.Unlock()
		err := addHostRow(ctx, tx, job.Key)
		if err == nil && also != nil {
			err = also(ctx, tx, job)
		}
		return err
	}})
	return l
}

// racers makes a job with n attempts that can all win.
func (h *harness) racers(key string, n int) (onejob.Job, []onejob.Attempt) {
	h.Helper()
	job := h.create(key)
	attempts := make([]onejob.Attempt, n)
	for i := range attempts {
		attempts[i] = h.begin(job, "primary")
		if i < n-1 {
			_, err := h.op.DetachAttempt(h.ctx, attempts[i].ID, someone)
			require.NoError(h, err)
		}
	}
	return job, attempts
}

var errNoAnswer = errors.New("no answer")
