package storetest

import (
	"errors"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("overdue",
	testCase{
		name: "every reader says unknown",
		why:  "an attempt past its deadline is unknown whether or not anything swept, and never failed by time",
		run: func(h *harness) {
			job := h.create("k")
			a := h.expired(job, "primary")
			h.readersSay(job, a, onejob.StateUnknown)
			h.blocks(job, a)
		},
	},
	testCase{
		name:  "every operator's query says unknown",
		why:   "a dashboard that counts an overdue attempt as running hides the doubt from the one who could end it",
		needs: []ability{operating},
		run: func(h *harness) {
			job := h.create("k")
			a := h.overdue(job, "primary")
			_, running := h.start("in time")
			require.Equal(h, []onejob.AttemptID{a.ID}, h.list(onejob.Filter{States: []onejob.State{onejob.StateUnknown}}))
			require.Equal(h, []onejob.AttemptID{running.ID}, h.list(onejob.Filter{States: []onejob.State{onejob.StateStarted}}))
			require.ElementsMatch(h, []onejob.AttemptID{a.ID, running.ID}, h.list(onejob.Filter{}))
			require.Empty(h, h.list(onejob.Filter{States: []onejob.State{onejob.StateFailed}}))
			stats, err := h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.Equal(h, onejob.Stats{Open: 2, Started: 1, Unknown: 1, OldestUnknown: a.StartedAt}, stats)
		},
	},
	testCase{
		name:  "Sweep makes it durable",
		why:   "Sweep sets the state and nothing else, and what was swept once is not found again",
		needs: []ability{operating},
		run: func(h *harness) {
			job := h.create("k")
			a := h.overdue(job, "primary")
			before, was, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			swept, err := h.op.Sweep(h.ctx, 10)
			require.NoError(h, err)
			require.Equal(h, []onejob.Attempt{was}, swept)
			after, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			require.Equal(h, was, now)
			require.Equal(h, before, after)
			swept, err = h.op.Sweep(h.ctx, 10)
			require.NoError(h, err)
			require.Empty(h, swept)
			h.readersSay(job, a, onejob.StateUnknown)
			h.blocks(job, a)
		},
	},
	testCase{
		name:  "Sweep leaves all others alone",
		why:   "only what is started and overdue may be swept: a detached attempt that became unknown would block its successor",
		needs: []ability{operating},
		run: func(h *harness) {
			var before []onejob.Attempt
			for _, state := range allStates {
				_, a := h.inState("k "+string(state), state)
				before = append(before, a)
			}
			detached := h.overdue(h.create("overdue and detached"), "primary")
			_, err := h.op.DetachAttempt(h.ctx, detached.ID, someone)
			require.NoError(h, err)
			_, detached, err = h.jobs.GetAttempt(h.ctx, detached.ID)
			require.NoError(h, err)
			won := h.overdue(h.create("overdue and completed"), "primary")
			h.complete(won, "result")
			_, won, err = h.jobs.GetAttempt(h.ctx, won.ID)
			require.NoError(h, err)
			swept, err := h.op.Sweep(h.ctx, 100)
			require.NoError(h, err)
			require.Empty(h, swept)
			for _, was := range append(before, detached, won) {
				_, now, err := h.jobs.GetAttempt(h.ctx, was.ID)
				require.NoError(h, err)
				require.Equal(h, was, now)
			}
		},
	},
	testCase{
		name:  "Sweep keeps to its limit",
		why:   "a sweep after a long pause must not turn into one huge transaction",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				h.overdue(h.create(key), "primary")
			}
			seen := map[onejob.AttemptID]bool{}
			for _, want := range []int{2, 2, 1, 0} {
				swept, err := h.op.Sweep(h.ctx, 2)
				require.NoError(h, err)
				require.Len(h, swept, want)
				for _, a := range swept {
					require.Equal(h, onejob.StateUnknown, a.State)
					seen[a.ID] = true
				}
			}
			require.Len(h, seen, 5)
			for _, limit := range []int{0, -1} {
				_, err := h.op.Sweep(h.ctx, limit)
				require.Equal(h, "limit", h.refusal(err, onejob.ErrInvalid).Field)
			}
		},
	},
	testCase{
		name:  "several sweep at once",
		why:   "any number of nodes may sweep: each overdue attempt is reported by one of them",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				h.overdue(h.create(key), "primary")
			}
			swept, errs := make([][]onejob.Attempt, 4), make([]error, 4)
			together(len(swept), func(i int) { swept[i], errs[i] = h.op.Sweep(h.ctx, 100) })
			seen := map[onejob.AttemptID]int{}
			for i := range swept {
				require.NoError(h, errs[i])
				for _, a := range swept[i] {
					seen[a.ID]++
				}
			}
			for id, n := range seen {
				require.Equal(h, 1, n, id)
			}
			left, err := h.op.Sweep(h.ctx, 100)
			require.NoError(h, err)
			require.Len(h, seen, 8-len(left))
		},
	},
	testCase{
		name:  "its result still wins",
		why:   "a result is the very evidence that ends the doubt, before a sweep and after it",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, sweep := range []bool{false, true} {
				job := h.create(map[bool]string{false: "overdue", true: "swept"}[sweep])
				a := h.overdue(job, "primary")
				if sweep {
					swept, err := h.op.Sweep(h.ctx, 10)
					require.NoError(h, err)
					require.Len(h, swept, 1)
				}
				done := h.complete(a, "result")
				require.Equal(h, onejob.StatusCompleted, done.Status())
				require.Equal(h, "result", string(done.Result))
				require.Equal(h, a.ID, done.Attempt.ID)
				require.Equal(h, onejob.StateSucceeded, done.Attempt.State)
				require.Zero(h, done.Attempt.LateAt)
				require.NotContains(h, h.log.String(), "late result")
			}
		},
	},
	testCase{
		name: "proof ends it",
		why:  "an overdue attempt that is then proven to have had no effect has failed, and another may begin",
		run: func(h *harness) {
			job := h.create("k")
			a := h.overdue(job, "primary")
			job, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("never sent")))
			require.NoError(h, err)
			require.Equal(h, onejob.StatusPending, job.Status())
			h.begin(job, "fallback")
		},
	},
	testCase{
		name: "Extend moves the deadline of a started attempt",
		why:  "the deadline is now plus d and never earlier than it was: extending by less changes nothing",
		run: func(h *harness) {
			_, a := h.start("k")
			longer, err := h.jobs.Extend(h.ctx, a, 2*time.Hour)
			require.NoError(h, err)
			require.Equal(h, 2*time.Hour, longer.Timeout)
			require.GreaterOrEqual(h, longer.Deadline.Sub(a.StartedAt), 2*time.Hour)
			for _, d := range []time.Duration{time.Nanosecond, time.Minute, time.Hour} {
				same, err := h.jobs.Extend(h.ctx, a, d)
				require.NoError(h, err)
				require.Equal(h, longer, same)
			}
			again, err := h.jobs.Extend(h.ctx, a, 2*time.Hour)
			require.NoError(h, err)
			require.False(h, again.Deadline.Before(longer.Deadline))
			again.Deadline, again.Timeout = a.Deadline, a.Timeout
			require.Equal(h, a, again)
			for _, d := range []time.Duration{0, -time.Second} {
				_, err = h.jobs.Extend(h.ctx, a, d)
				require.Equal(h, "d", h.refusal(err, onejob.ErrInvalid).Field)
			}
		},
	},
	testCase{
		name:  "Extend does not revive",
		why:   "a doubt is not ended by more time, before a sweep or after it, and an attempt that is over or detached has no deadline to move",
		needs: []ability{operating},
		run: func(h *harness) {
			overdue := h.overdue(h.create("overdue"), "primary")
			h.notExtended(overdue, onejob.StateUnknown, onejob.ErrInDoubt)
			_, err := h.op.Sweep(h.ctx, 10)
			require.NoError(h, err)
			h.notExtended(overdue, onejob.StateUnknown, onejob.ErrInDoubt)
			for _, state := range allStates {
				switch _, a := h.inState(string(state), state); state {
				case onejob.StateStarted:
				case onejob.StateUnknown:
					h.notExtended(a, state, onejob.ErrInDoubt)
				default:
					h.notExtended(a, state, onejob.ErrAttemptEnded)
				}
			}
		},
	},
)

// expired is overdue without trusting a reader: it ends when the store has
// stamped something else with a time after the deadline.
func (h *harness) expired(job onejob.Job, provider string) onejob.Attempt {
	h.Helper()
	a, err := h.jobs.BeginAttempt(h.ctx, job, onejob.Try{Provider: provider, Timeout: time.Microsecond})
	require.NoError(h, err)
	for i := 0; ; i++ {
		if h.create("later " + strconv.Itoa(i)).CreatedAt.After(a.Deadline) {
			return a
		}
	}
}

// readersSay requires that everyone who reads the job sees the attempt in the
// state.
func (h *harness) readersSay(job onejob.Job, a onejob.Attempt, state onejob.State) {
	h.Helper()
	byID, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
	require.NoError(h, err)
	byKey, err := h.jobs.GetByKey(h.ctx, job.Owner, job.Key)
	require.NoError(h, err)
	byAttempt, one, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	any, list, err := h.op.Get(h.ctx, job.ID)
	require.NoError(h, err)
	created, _, err := h.jobs.Create(h.ctx, intent(job.Key))
	require.NoError(h, err)
	for _, j := range []onejob.Job{byID, byKey, byAttempt, any, created} {
		require.Equal(h, onejob.StatusUnknown, j.Status())
		require.NotNil(h, j.Attempt)
		require.Equal(h, one, *j.Attempt)
	}
	require.Equal(h, state, one.State)
	require.True(h, one.EndedAt.IsZero())
	require.Equal(h, []onejob.Attempt{one}, h.attempts(job))
	require.Equal(h, []onejob.Attempt{one}, list)
}

// blocks requires that no attempt may begin while a is in doubt.
func (h *harness) blocks(job onejob.Job, a onejob.Attempt) {
	h.Helper()
	_, err := h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
	e := h.refusal(err, onejob.ErrAttemptOpen)
	require.ErrorIs(h, err, onejob.ErrInDoubt)
	require.Equal(h, a.ID, e.Attempt.ID)
	require.Equal(h, onejob.StateUnknown, e.Attempt.State)
	_, _, err = h.jobs.Start(h.ctx, intent(job.Key), try("fallback"))
	require.ErrorIs(h, err, onejob.ErrInDoubt)
	require.Len(h, h.attempts(job), 1)
}

// list returns the attempts that match f.
func (h *harness) list(f onejob.Filter) []onejob.AttemptID {
	h.Helper()
	var ids []onejob.AttemptID
	for e, err := range h.op.Attempts(h.ctx, f) {
		require.NoError(h, err)
		ids = append(ids, e.Attempt.ID)
	}
	return ids
}

func (h *harness) notExtended(a onejob.Attempt, state onejob.State, want error) {
	h.Helper()
	_, before, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	_, err = h.jobs.Extend(h.ctx, a, 100*time.Hour)
	e := h.refusal(err, want)
	require.Equal(h, a.ID, e.Attempt.ID)
	require.Equal(h, state, e.Attempt.State)
	_, after, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, before, after)
}
