package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("purge races",
	testCase{
		name:  "Create against a purge",
		why:   "a retry at the instant of the purge gets the job or is told that it is retired, and never executes again",
		needs: []ability{operating},
		run: func(h *harness) {
			for round := range 12 {
				job, _ := h.inState(fmt.Sprint("k", round), onejob.StateSucceeded)
				for _, r := range h.createDuring(job.Key, onejob.Retention{Payloads: time.Microsecond}) {
					require.False(h, r.created)
					require.Equal(h, job.ID, r.job.ID)
					if r.err != nil {
						require.ErrorIs(h, r.err, onejob.ErrKeyRetired)
					} else {
						require.Equal(h, []byte("result"), r.job.Result)
					}
				}
			}
		},
	},
	testCase{
		name:  "Create against the removal of a tombstone",
		why:   "the key is retired until it is free, and whoever finds it free makes one new job",
		needs: []ability{operating},
		run: func(h *harness) {
			for round := range 12 {
				job, _ := h.inState(fmt.Sprint("k", round), onejob.StateSucceeded)
				h.purge(1)
				created := 0
				var next onejob.JobID
				for _, r := range h.createDuring(job.Key, onejob.Retention{Tombstones: time.Microsecond}) {
					if r.err != nil {
						require.Equal(h, job.ID, h.refusal(r.err, onejob.ErrKeyRetired).Job.ID)
						continue
					}
					require.NotEqual(h, job.ID, r.job.ID)
					if next != "" {
						require.Equal(h, next, r.job.ID)
					}
					next = r.job.ID
					if r.created {
						created++
					}
				}
				if next != "" {
					require.Equal(h, 1, created)
				}
			}
		},
	},
	testCase{
		name:  "Complete of a detached attempt against a purge",
		why:   "the loser is told so whichever comes first, and no attempt but the winner and the closed ones outlives the purge",
		needs: []ability{operating},
		run: func(h *harness) {
			for round := range 12 {
				job, attempts := h.racers(fmt.Sprint("k", round), 4)
				winner := attempts[3]
				h.complete(winner, "result")
				errs := make([]error, 4)
				together(4, func(i int) {
					if i < 3 {
						_, errs[i] = h.jobs.Complete(h.ctx, attempts[i], []byte("the loser's"))
					} else {
						_, errs[i] = h.op.Purge(h.ctx, onejob.Retention{Payloads: time.Microsecond}, 100)
					}
				})
				require.NoError(h, errs[3])
				for _, err := range errs[:3] {
					require.Equal(h, winner.ID, h.refusal(err, onejob.ErrLateResult).Job.Attempt.ID)
				}
				h.purgeAll()
				for _, a := range h.attempts(job) {
					if a.ID != winner.ID {
						require.Equal(h, onejob.StateCanceled, a.State)
						require.Equal(h, "purge", a.By)
					}
				}
			}
		},
	},
	testCase{
		name:  "the winner's repeat against a purge",
		why:   "the winner keeps its success as long as the row stands",
		needs: []ability{operating},
		run: func(h *harness) {
			for round := range 12 {
				_, a := h.inState(fmt.Sprint("k", round), onejob.StateSucceeded)
				errs := make([]error, 4)
				together(4, func(i int) {
					if i < 3 {
						_, errs[i] = h.jobs.Complete(h.ctx, a, []byte("result"))
					} else {
						_, errs[i] = h.op.Purge(h.ctx, onejob.Retention{Payloads: time.Microsecond}, 100)
					}
				})
				for _, err := range errs {
					require.NoError(h, err)
				}
			}
		},
	},
	testCase{
		name:  "4 purges at once count each job once",
		why:   "any number of processes may purge: together they do the work once, and neither waits for the other's rows",
		needs: []ability{operating},
		run: func(h *harness) {
			const n = 24
			for i := range n {
				h.inState(fmt.Sprint("k", i), onejob.StateSucceeded)
			}
			for _, r := range []onejob.Retention{{Payloads: time.Microsecond}, {Tombstones: time.Microsecond}} {
				var mu sync.Mutex
				total := 0
				errs := make([]error, 4)
				together(4, func(i int) {
					for {
						k, err := h.op.Purge(h.ctx, r, 3)
						mu.Lock()
						total += k
						done := total >= n
						mu.Unlock()
						if err != nil || done {
							errs[i] = err
							return
						}
					}
				})
				require.NoError(h, errors.Join(errs...))
				require.Equal(h, n, total)
			}
			stats, err := h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.Zero(h, stats)
		},
	},
	testCase{
		name:  "8 sweeps at once return each attempt once",
		why:   "any number of processes may sweep: an attempt that falls into doubt is reported by one of them",
		needs: []ability{operating},
		run: func(h *harness) {
			_, running := h.start("running")
			// The first round opens the connections; from then on they meet.
			for round := range 4 {
				due := map[onejob.AttemptID]bool{}
				for i := range 16 {
					due[h.pastDue(fmt.Sprint("k", round, "-", i)).ID] = true
				}
				swept := make([][]onejob.Attempt, 8)
				errs := make([]error, 8)
				together(8, func(i int) {
					for {
						some, err := h.op.Sweep(h.ctx, 8)
						if err != nil || len(some) == 0 {
							errs[i] = err
							return
						}
						swept[i] = append(swept[i], some...)
					}
				})
				require.NoError(h, errors.Join(errs...))
				for _, list := range swept {
					for _, a := range list {
						require.Equal(h, onejob.StateUnknown, a.State)
						require.True(h, due[a.ID], "swept twice, or not due: %s", a.ID)
						delete(due, a.ID)
					}
				}
				require.Empty(h, due)
			}
			_, now, err := h.jobs.GetAttempt(h.ctx, running.ID)
			require.NoError(h, err)
			require.Equal(h, onejob.StateStarted, now.State)
		},
	},
)

// createdDuring is what a Create got.
type createdDuring struct {
	job     onejob.Job
	created bool
	err     error
}

// createDuring creates the key six times while two purges run.
func (h *harness) createDuring(key string, r onejob.Retention) []createdDuring {
	h.Helper()
	got := make([]createdDuring, 6)
	purged := make([]error, 2)
	together(8, func(i int) {
		if i < 2 {
			_, purged[i] = h.op.Purge(h.ctx, r, 100)
			return
		}
		g := &got[i-2]
		g.job, g.created, g.err = h.jobs.Create(h.ctx, intent(key))
	})
	require.NoError(h, errors.Join(purged...))
	return got
}

// pastDue makes a job whose attempt is past its deadline and not swept. It may
// be past it already when BeginAttempt reads it back.
func (h *harness) pastDue(key string) onejob.Attempt {
	h.Helper()
	a, err := h.jobs.BeginAttempt(h.ctx, h.create(key), onejob.Try{Provider: "primary", Timeout: time.Microsecond})
	if err != nil {
		a = *h.refusal(err, onejob.ErrInDoubt).Attempt
	}
	for a.State != onejob.StateUnknown {
		_, a, err = h.jobs.GetAttempt(h.ctx, a.ID)
		require.NoError(h, err)
	}
	return a
}

// purgeAll drops the payloads of all final jobs, however many are left.
func (h *harness) purgeAll() {
	h.Helper()
	h.inState(fmt.Sprint("marker ", time.Now().UnixNano()), onejob.StateSucceeded)
	h.purge(1)
}
