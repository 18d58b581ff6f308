package storetest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// another is a decision that comes after that of someone.
var another = onejob.Decision{By: "bob", Reason: "did not know that ada had decided"}

var _ = register("repeats",
	testCase{
		name: "the winner with the same result",
		why:  "a caller who lost the answer asks again and gets the same one, for as long as the row stands",
		run: func(h *harness) {
			_, a := h.start("k")
			first := h.complete(a, "result")
			for range 3 {
				require.Equal(h, first, h.complete(a, "result"))
			}
			require.Empty(h, h.lateLines())
		},
	},
	testCase{
		name: "the winner with another result",
		why:  "one result is ever kept: the other is refused, and the one that is stored comes along",
		run: func(h *harness) {
			_, a := h.start("k")
			first := h.complete(a, "result")
			for _, other := range []string{"", "Result", "result ", canary} {
				job, err := h.jobs.Complete(h.ctx, a, []byte(other))
				e := h.refusal(err, onejob.ErrResultMismatch)
				require.Equal(h, first, job)
				require.Equal(h, first, e.Job)
				require.Equal(h, a.ID, e.Attempt.ID)
				require.NotContains(h, err.Error(), canary)
			}
			require.Equal(h, first, h.complete(a, "result"))
			require.Zero(h, first.Attempt.LateAt)
			require.NotContains(h, h.log.String(), canary)
		},
	},
	testCase{
		name: "results that are nil and empty",
		why:  "they are the same, and stored as empty, which is not the nil of a job without a result",
		run: func(h *harness) {
			for name, first := range map[string][]byte{"nil": nil, "empty": {}} {
				open, a := h.start(name)
				require.Nil(h, open.Result)
				for _, result := range [][]byte{first, nil, {}} {
					job, err := h.jobs.Complete(h.ctx, a, result)
					require.NoError(h, err)
					require.Equal(h, []byte{}, job.Result)
				}
				job, err := h.jobs.Get(h.ctx, open.Owner, open.ID)
				require.NoError(h, err)
				require.Equal(h, []byte{}, job.Result)
			}
		},
	},
	testCase{
		name:  "the winner of a purged job",
		why:   "the digest outlives the result: the winner is still told that it won, and a liar that it did not",
		needs: []ability{operating},
		run: func(h *harness) {
			_, a := h.start("k")
			h.complete(a, "result")
			h.purge(1)
			job := h.complete(a, "result")
			require.Nil(h, job.Result)
			require.False(h, job.PurgedAt.IsZero())
			_, err := h.jobs.Complete(h.ctx, a, []byte("other"))
			require.ErrorIs(h, err, onejob.ErrResultMismatch)
			h.removeTombstones(1)
			_, err = h.jobs.Complete(h.ctx, a, []byte("result"))
			require.ErrorIs(h, err, onejob.ErrNotFound)
		},
	},
	testCase{
		name:  "a loser of a purged job",
		why:   "its row is gone, and it is still told that it lost and, where there is one, to whom",
		needs: []ability{operating},
		run: func(h *harness) {
			job, loser := h.inState("completed", onejob.StateLate)
			canceled, a := h.inState("canceled", onejob.StateFailed)
			_, err := h.op.CancelJob(h.ctx, canceled.ID, someone)
			require.NoError(h, err)
			h.purge(2)
			now, err := h.jobs.Complete(h.ctx, loser, []byte(canary))
			e := h.refusal(err, onejob.ErrLateResult)
			require.Equal(h, job.Attempt.ID, e.Attempt.ID)
			require.Nil(h, now.Result)
			now, err = h.jobs.Complete(h.ctx, a, []byte(canary))
			require.Nil(h, h.refusal(err, onejob.ErrLateResult).Attempt)
			require.Equal(h, onejob.StatusCanceled, now.Status())
			_, err = h.jobs.Fail(h.ctx, loser, onejob.NoEffect(errRefused))
			require.ErrorIs(h, err, onejob.ErrAttemptEnded)
			require.NotContains(h, h.log.String(), canary)
		},
	},
	testCase{
		name: "one who lost",
		why:  "the evidence of the first loss stands, and each refused call may mean a refund: one more line",
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateLate, onejob.StateFailed, onejob.StateCanceled} {
				job, a := h.inState(string(state), state)
				_, err := h.jobs.Complete(h.ctx, a, []byte("first "+canary))
				require.ErrorIs(h, err, onejob.ErrLateResult)
				_, first, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.False(h, first.LateAt.IsZero())
				lines := len(h.lateLines())
				for i := range 3 {
					now, err := h.jobs.Complete(h.ctx, a, []byte(strings.Repeat(canary, i)))
					require.Equal(h, now, h.refusal(err, onejob.ErrLateResult).Job)
					require.Equal(h, job, now)
					require.Len(h, h.lateLines(), lines+i+1)
				}
				_, again, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, first, again)
			}
			require.NotContains(h, h.log.String(), canary)
		},
	},
	testCase{
		name: "a decision, by another",
		why:  "the first name and reason stand, for they are what was acted on",
		run: func(h *harness) {
			for name, decide := range decisions {
				_, a := h.start(name)
				first, err := decide(h, a, someone)
				require.NoError(h, err, name)
				again, err := decide(h, a, another)
				require.NoError(h, err, name)
				require.Equal(h, first, again, name)
				job, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				if name == "CancelJob" {
					require.Equal(h, someone, job.Decision)
					require.Empty(h, now.Decision)
				} else {
					require.Equal(h, someone, now.Decision, name)
					require.Empty(h, job.Decision, name)
				}
			}
		},
	},
	testCase{
		name: "a decision without a name or a reason",
		why:  "whoever overrules a doubt answers for it: nothing happens without both",
		run: func(h *harness) {
			for name, decide := range decisions {
				job, a := h.start(name)
				for field, bad := range map[string]onejob.Decision{
					"Decision.By":     {Reason: "because"},
					"Decision.Reason": {By: "ada"},
				} {
					_, err := decide(h, a, bad)
					require.Equal(h, field, h.refusal(err, onejob.ErrInvalid).Field, name)
				}
				for _, bad := range []onejob.Decision{
					{}, {By: "ada", Reason: " \n\t"}, {By: strings.Repeat("x", 129), Reason: "because"}, {By: "a\x00", Reason: "because"},
				} {
					_, err := decide(h, a, bad)
					require.ErrorIs(h, err, onejob.ErrInvalid, name)
				}
				read, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, a, now, name)
				require.Equal(h, job, read, name)
			}
		},
	},
	testCase{
		name: "Confirm ends a doubt",
		why:  "the operator's word completes the job, and who gave it is kept on the attempt",
		run: func(h *harness) {
			_, a := h.inState("k", onejob.StateUnknown)
			job, err := h.op.Confirm(h.ctx, a.ID, []byte("result"), someone)
			require.NoError(h, err)
			require.Equal(h, onejob.StatusCompleted, job.Status())
			require.Equal(h, "result", string(job.Result))
			require.Equal(h, someone, job.Attempt.Decision)
			require.Empty(h, job.Decision)
			require.Equal(h, job, h.complete(a, "result"))
		},
	},
	testCase{
		name: "Confirm comes too late",
		why:  "a confirmed effect that cannot win is one too many: the refusal says why, and the evidence is kept",
		run: func(h *harness) {
			job, overtaken := h.inState("overtaken", onejob.StateDetached)
			winner := h.complete(h.begin(job, "fallback"), "the winner's")
			h.confirmRefused(overtaken, onejob.ErrCompleted, winner)
			job, withdrawn := h.inState("withdrawn", onejob.StateUnknown)
			_, err := h.op.CancelJob(h.ctx, job.ID, someone)
			require.NoError(h, err)
			h.confirmRefused(withdrawn, onejob.ErrJobCanceled, onejob.Job{})
			for _, state := range []onejob.State{onejob.StateCanceled, onejob.StateFailed} {
				_, a := h.inState(string(state), state)
				h.confirmRefused(a, onejob.ErrAttemptEnded, onejob.Job{})
			}
		},
	},
)

// decisions are the operator's.
var decisions = map[string]func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error){
	"Confirm": func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error) {
		return h.op.Confirm(h.ctx, a.ID, []byte("result"), d)
	},
	"Refute": func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error) {
		return h.op.Refute(h.ctx, a.ID, d)
	},
	"CancelAttempt": func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error) {
		return h.op.CancelAttempt(h.ctx, a.ID, d)
	},
	"DetachAttempt": func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error) {
		return h.op.DetachAttempt(h.ctx, a.ID, d)
	},
	"CancelJob": func(h *harness, a onejob.Attempt, d onejob.Decision) (onejob.Job, error) {
		return h.op.CancelJob(h.ctx, a.JobID, d)
	},
}

func (h *harness) confirmRefused(a onejob.Attempt, want error, winner onejob.Job) {
	h.Helper()
	job, err := h.op.Confirm(h.ctx, a.ID, []byte(canary), another)
	e := h.refusal(err, want)
	require.NotErrorIs(h, err, onejob.ErrLateResult)
	require.Equal(h, job, e.Job)
	if winner.ID != "" {
		require.Equal(h, winner, job)
		require.Equal(h, winner.Attempt.ID, e.Attempt.ID)
	}
	_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.False(h, now.LateAt.IsZero())
	require.EqualValues(h, len(canary), now.LateSize)
	lines := h.lateLines()
	require.Contains(h, lines[len(lines)-1], string(a.ID))
	require.NotContains(h, h.log.String(), canary)
}
