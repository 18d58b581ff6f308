package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var errRollBack = errors.New("roll back")

// begun is what one caller of BeginAttempt got.
type begun struct {
	a   onejob.Attempt
	err error
}

// beginsAgainst has n callers begin while another does something else to the
// job, all at one instant.
func (h *harness) beginsAgainst(n int, job onejob.Job, other func() error) ([]begun, error) {
	got := make([]begun, n)
	var err error
	together(n+1, func(i int) {
		if i == n {
			err = other()
			return
		}
		got[i].a, got[i].err = h.jobs.BeginAttempt(h.ctx, job, try(fmt.Sprint("provider-", i)))
	})
	return got, err
}

// onlyOne returns the attempt that began, if any did; all others must have been
// refused for one of the reasons.
func (h *harness) onlyOne(got []begun, reasons ...error) *onejob.Attempt {
	h.Helper()
	var one *onejob.Attempt
	for i := range got {
		if got[i].err == nil {
			require.Nil(h, one, "two attempts began")
			one = &got[i].a
			continue
		}
		lawful := false
		for _, reason := range reasons {
			lawful = lawful || errors.Is(got[i].err, reason)
		}
		require.True(h, lawful, got[i].err)
	}
	return one
}

// beforeEnd requires that the attempt, if there is one, began before the job
// ended.
func (h *harness) beforeEnd(a *onejob.Attempt, job onejob.Job) {
	h.Helper()
	if a != nil {
		require.Equal(h, int64(1), a.JobVersion)
		require.False(h, a.StartedAt.After(job.EndedAt), "began %s after the job's end", a.StartedAt.Sub(job.EndedAt))
	}
}

const beginRounds = 20

var beginRaces = []testCase{
	{
		name: "64 goroutines begin one attempt",
		why:  "of simultaneous calls exactly one begins, and each refusal names it",
		run: func(h *harness) {
			for round := range 3 {
				job := h.create(fmt.Sprint("k", round))
				got := make([]begun, 64)
				together(len(got), func(i int) { got[i].a, got[i].err = h.jobs.BeginAttempt(h.ctx, job, try("primary")) })
				one := h.onlyOne(got, onejob.ErrAttemptOpen)
				require.NotNil(h, one)
				require.Equal(h, 1, one.Number)
				for _, g := range got {
					if g.err != nil {
						e := h.refusal(g.err, onejob.ErrAttemptOpen)
						require.NotErrorIs(h, g.err, onejob.ErrInDoubt)
						require.Equal(h, one, e.Attempt)
						require.Equal(h, one, e.Job.Attempt)
						require.Equal(h, job.ID, e.Job.ID)
					}
				}
				require.Equal(h, []onejob.Attempt{*one}, h.attempts(job))
			}
		},
	},
	{
		name: "begin against Complete of the attempt in the way",
		why:  "an attempt that blocks until it wins leaves no instant in which another may begin",
		run: func(h *harness) {
			for round := range beginRounds {
				job, a := h.start(fmt.Sprint("k", round))
				got, err := h.beginsAgainst(4, job, func() error {
					_, err := h.jobs.Complete(h.ctx, a, []byte("result"))
					return err
				})
				require.NoError(h, err)
				require.Nil(h, h.onlyOne(got, onejob.ErrAttemptOpen, onejob.ErrCompleted))
				for _, g := range got {
					var e *onejob.Error
					require.ErrorAs(h, g.err, &e)
					require.Equal(h, a.ID, e.Attempt.ID)
				}
			}
		},
	},
	{
		name: "begin against Complete of a detached attempt",
		why:  "an attempt begins before the job is completed or not at all",
		run: func(h *harness) {
			for round := range beginRounds {
				job, a := h.inState(fmt.Sprint("k", round), onejob.StateDetached)
				var done onejob.Job
				got, err := h.beginsAgainst(4, job, func() (err error) {
					done, err = h.jobs.Complete(h.ctx, a, []byte("result"))
					return err
				})
				require.NoError(h, err)
				h.beforeEnd(h.onlyOne(got, onejob.ErrAttemptOpen, onejob.ErrCompleted), done)
				require.Equal(h, a.ID, done.Attempt.ID)
			}
		},
	},
	{
		name: "begin against CancelJob",
		why:  "an attempt begins before the intent is withdrawn or not at all",
		run: func(h *harness) {
			for round := range beginRounds {
				job := h.create(fmt.Sprint("k", round))
				var done onejob.Job
				got, err := h.beginsAgainst(4, job, func() (err error) {
					done, err = h.op.CancelJob(h.ctx, job.ID, someone)
					return err
				})
				require.NoError(h, err)
				h.beforeEnd(h.onlyOne(got, onejob.ErrAttemptOpen, onejob.ErrJobCanceled), done)
			}
		},
	},
	{
		name: "begin against the failure of the attempt in the way",
		why:  "the next begins after the failure, with number 2, or is refused for what was in the way",
		run: func(h *harness) {
			for round := range beginRounds {
				job, a := h.start(fmt.Sprint("k", round))
				got, err := h.beginsAgainst(4, job, func() (err error) {
					if round%2 == 0 {
						_, err = h.op.Refute(h.ctx, a.ID, someone)
					} else {
						_, err = h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused")))
					}
					return err
				})
				require.NoError(h, err)
				list := h.attempts(job)
				require.Equal(h, onejob.StateFailed, list[0].State)
				if one := h.onlyOne(got, onejob.ErrAttemptOpen); one != nil {
					require.Equal(h, 2, one.Number)
					require.False(h, one.StartedAt.Before(list[0].EndedAt))
					require.Equal(h, []onejob.Attempt{*one}, list[1:])
				} else {
					require.Len(h, list, 1)
				}
			}
		},
	},
	{
		name: "a storm of begins and refutations",
		why:  "numbers stay dense, two attempts are never open together, and each provider key counts what failed before it",
		run: func(h *harness) {
			h.use(onejob.Options{MaxAttempts: 1000})
			job := h.create("k")
			var open, twice, begun, lost atomic.Int64
			unlawful := make([]error, 16)
			together(len(unlawful), func(i int) {
				for range 20 {
					a, err := h.jobs.BeginAttempt(h.ctx, job, try("primary"))
					switch {
					case err == nil:
						begun.Add(1)
						if open.Add(1) > 1 {
							twice.Add(1)
						}
						open.Add(-1)
						if _, err := h.op.Refute(h.ctx, a.ID, someone); err != nil {
							unlawful[i] = err
						}
					case errors.Is(err, onejob.ErrUnavailable):
						// The one lawful cause has no database's error beneath.
						lost.Add(1)
						if e := new(onejob.Error); !errors.As(err, &e) || errors.Unwrap(e.Cause) != nil {
							unlawful[i] = err
						}
					case !errors.Is(err, onejob.ErrAttemptOpen):
						unlawful[i] = err
					}
				}
			})
			for _, err := range unlawful {
				require.NoError(h, err)
			}
			require.Zero(h, twice.Load())
			list := h.attempts(job)
			require.Len(h, list, int(begun.Load()))
			for i, a := range list {
				require.Equal(h, i+1, a.Number)
				require.Equal(h, onejob.StateFailed, a.State)
				require.Equal(h, wantProviderKey(job.ID, "primary", i), a.ProviderKey)
				if i > 0 {
					require.False(h, a.StartedAt.Before(list[i-1].EndedAt))
				}
			}
			h.Logf("%d of 320 began, %d lost a race each time", begun.Load(), lost.Load())
			require.Less(h, lost.Load(), int64(16))
		},
	},
	{
		name:  "begin waits for a completion that is not committed",
		why:   "an attempt must not begin on a job whose completion may commit a moment later: it waits, and gives up with its context",
		needs: []ability{transactions},
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			var early error
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result")); err != nil {
					return err
				}
				short, cancel := context.WithTimeout(h.ctx, 200*time.Millisecond)
				defer cancel()
				_, early = h.jobs.BeginAttempt(short, job, try("fallback"))
				return nil
			})
			require.NoError(h, err)
			require.ErrorIs(h, early, onejob.ErrUnavailable)
			_, err = h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
			require.ErrorIs(h, err, onejob.ErrCompleted)
			require.Len(h, h.attempts(job), 1)
		},
	},
	{
		name:  "begin and CancelJob wait for one transaction",
		why:   "times are taken when the wait is over: an attempt that began first did not begin after the job's end",
		needs: []ability{transactions},
		run: func(h *harness) {
			for round := range beginRounds {
				job, a := h.inState(fmt.Sprint("k", round), onejob.StateDetached)
				var done onejob.Job
				var next begun
				var cancelErr error
				var called, over sync.WaitGroup
				called.Add(2)
				err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					if _, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result")); err != nil {
						return err
					}
					over.Go(func() {
						called.Done()
						next.a, next.err = h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
					})
					over.Go(func() {
						called.Done()
						done, cancelErr = h.op.CancelJob(h.ctx, job.ID, someone)
					})
					called.Wait()
					for range 20 {
						if _, err := h.jobs.Get(ctx, job.Owner, job.ID); err != nil {
							return err
						}
					}
					return errRollBack
				})
				over.Wait()
				require.Equal(h, errRollBack, err)
				require.NoError(h, cancelErr)
				h.beforeEnd(h.onlyOne([]begun{next}, onejob.ErrJobCanceled), done)
			}
		},
	},
}
