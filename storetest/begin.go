package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("begin", slices.Concat(
	beginRefusals,
	beginNumbers,
	beginRepeats,
	beginStarts,
	beginRaces,
)...)

var beginRefusals = []testCase{
	{
		name: "an open attempt blocks the next",
		why:  "started or unknown, swept or not: the refusal is ErrAttemptOpen, names the one in the way, and is ErrInDoubt too when that is unknown",
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown} {
				job, a := h.inState(string(state), state)
				h.blocked(job, a, state)
			}
			job := h.create("overdue")
			h.blocked(job, h.overdue(job, "primary"), onejob.StateUnknown)
		},
	},
	{
		name: "the next may begin when the one before no longer blocks",
		why:  "a failed, a canceled and a detached attempt leave the job free, for the same provider and for another",
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateFailed, onejob.StateCanceled, onejob.StateDetached} {
				for _, provider := range []string{"primary", "fallback"} {
					job, first := h.inState(string(state)+provider, state)
					require.Equal(h, onejob.StatusPending, job.Status())
					a := h.begin(job, provider)
					require.Equal(h, 2, a.Number)
					require.Equal(h, onejob.StateStarted, a.State)
					require.Equal(h, []onejob.Attempt{first, a}, h.attempts(job))
					h.blocked(job, a, onejob.StateStarted)
				}
			}
		},
	},
	{
		name: "the attempt is what is stored",
		why:  "what BeginAttempt returns is what every reader then sees, its deadline being its start and its timeout",
		run: func(h *harness) {
			job := h.create("k")
			a, err := h.jobs.BeginAttempt(h.ctx, job, onejob.Try{Provider: "primary", Timeout: time.Hour + 1})
			require.NoError(h, err)
			_, stored, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			require.Equal(h, stored, a)
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
			require.Equal(h, &a, h.holder(job.Intent).Attempt)
			require.Equal(h, job.ID, a.ID.Job())
			require.Equal(h, job.ID, a.JobID)
			require.Equal(h, job.Version, a.JobVersion)
			require.Equal(h, job.Version, h.holder(job.Intent).Version, "beginning does not change the job")
			require.Equal(h, time.Hour+time.Microsecond, a.Timeout)
			require.Equal(h, a.StartedAt.Add(a.Timeout), a.Deadline)
			require.False(h, a.StartedAt.Before(job.CreatedAt))
		},
	},
	{
		name: "a completed job refuses, with its result",
		why:  "whoever comes after the winner needs the result and no further attempt",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateSucceeded)
			e := h.refused(job, onejob.ErrCompleted)
			require.Equal(h, "result", string(e.Job.Result))
			require.Equal(h, a.ID, e.Attempt.ID)

			job, _ = h.inState("late", onejob.StateLate)
			require.Equal(h, "the winner's", string(h.refused(job, onejob.ErrCompleted).Job.Result))

			job, a = h.inState("raced", onejob.StateDetached)
			open := h.begin(job, "fallback")
			h.complete(a, "result")
			require.Equal(h, a.ID, h.refused(job, onejob.ErrCompleted).Attempt.ID, "not the one that is open beside it")
			require.Equal(h, onejob.StateStarted, h.attempts(job)[open.Number-1].State)
		},
	},
	{
		name: "a canceled job refuses",
		why:  "an intent that was withdrawn is not executed, whatever its attempts: ErrJobCanceled comes before ErrAttemptOpen",
		run: func(h *harness) {
			for _, state := range []onejob.State{"", onejob.StateStarted, onejob.StateUnknown, onejob.StateFailed, onejob.StateDetached} {
				var job onejob.Job
				if key := "k" + string(state); state == "" {
					job = h.create(key)
				} else {
					job, _ = h.inState(key, state)
				}
				_, err := h.op.CancelJob(h.ctx, job.ID, someone)
				require.NoError(h, err)
				e := h.refused(job, onejob.ErrJobCanceled)
				require.Equal(h, onejob.JobCanceled, e.Job.State)
				require.Equal(h, someone, e.Job.Decision)
			}
		},
	},
	{
		name:  "a purged job refuses",
		why:   "a tombstone still tells how its job ended, and never lets an attempt begin",
		needs: []ability{operating},
		run: func(h *harness) {
			job := h.inJobStatus("done", onejob.StatusCompleted)
			h.purge(1)
			e := h.refused(job, onejob.ErrCompleted)
			require.Nil(h, e.Job.Result)
			require.False(h, e.Job.PurgedAt.IsZero())
			job = h.inJobStatus("withdrawn", onejob.StatusCanceled)
			h.purge(1)
			h.refused(job, onejob.ErrJobCanceled)
		},
	},
	{
		name: "a removed job is not there",
		why:  "when the tombstone is gone too, the ID is no job's",

		needs: []ability{operating},
		run: func(h *harness) {
			job := h.inJobStatus("k", onejob.StatusCompleted)
			h.purge(1)
			h.removeTombstones(1)
			_, err := h.jobs.BeginAttempt(h.ctx, job, try("primary"))
			require.Equal(h, onejob.Job{}, h.refusal(err, onejob.ErrNotFound).Job)
		},
	},
	{
		name: "too many attempts",
		why:  "a loop must not retry for ever: MaxAttempts counts all attempts, however they ended, and refuses only when nothing else does",
		run: func(h *harness) {
			h.use(onejob.Options{MaxAttempts: 3})
			job := h.create("k")
			for range 2 {
				_, err := h.op.CancelAttempt(h.ctx, h.begin(job, "primary").ID, someone)
				require.NoError(h, err)
			}
			third := h.begin(job, "primary")
			h.blocked(job, third, onejob.StateStarted)
			_, err := h.op.CancelAttempt(h.ctx, third.ID, someone)
			require.NoError(h, err)
			e := h.refused(job, onejob.ErrTooManyAttempts)
			require.Equal(h, onejob.StatusPending, e.Job.Status())
			require.Nil(h, e.Attempt)
			_, err = h.op.CancelJob(h.ctx, job.ID, someone)
			require.NoError(h, err)
			h.refused(job, onejob.ErrJobCanceled)
		},
	},
	{
		name: "32 attempts by default",
		why:  "that is what hosts are told",
		run: func(h *harness) {
			job := h.create("k")
			for i := range 32 {
				a := h.begin(job, fmt.Sprint("provider-", i%2))
				require.Equal(h, i+1, a.Number)
				_, err := h.op.Refute(h.ctx, a.ID, someone)
				require.NoError(h, err)
			}
			h.refused(job, onejob.ErrTooManyAttempts)
		},
	},
}

// refused requires that BeginAttempt and Start are refused alike, and write
// nothing; Start has the job beside the refusal.
func (h *harness) refused(job onejob.Job, sentinel error) *onejob.Error {
	h.Helper()
	now, attempts := h.holder(job.Intent), h.attempts(job)
	a, err := h.jobs.BeginAttempt(h.ctx, job, try("another"))
	require.Equal(h, onejob.Attempt{}, a)
	e := h.refusal(err, sentinel)
	require.Equal(h, now, e.Job)
	if now.PurgedAt.IsZero() {
		beside, a, err := h.jobs.Start(h.ctx, intent(job.Key), try("another"))
		require.Equal(h, onejob.Attempt{}, a)
		require.Equal(h, now, beside)
		started := h.refusal(err, sentinel)
		require.Equal(h, e.Job, started.Job)
		require.Equal(h, e.Attempt, started.Attempt)
	}
	require.Equal(h, now, h.holder(job.Intent))
	require.Equal(h, attempts, h.attempts(job))
	return e
}

// blocked requires that the attempt, in that state, blocks the next.
func (h *harness) blocked(job onejob.Job, by onejob.Attempt, state onejob.State) {
	h.Helper()
	e := h.refused(job, onejob.ErrAttemptOpen)
	require.Equal(h, by.ID, e.Attempt.ID)
	require.Equal(h, state, e.Attempt.State)
	if state == onejob.StateUnknown {
		require.ErrorIs(h, e, onejob.ErrInDoubt)
		require.Equal(h, onejob.StatusUnknown, e.Job.Status())
	} else {
		require.NotErrorIs(h, e, onejob.ErrInDoubt)
		require.Equal(h, onejob.StatusRunning, e.Job.Status())
	}
}
