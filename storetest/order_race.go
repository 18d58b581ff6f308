package storetest

import (
	"errors"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("order of return, raced",
	testCase{
		name: "8 attempts complete at one instant",
		why:  "exactly one wins, and all others are told who did and with what",
		run: func(h *harness) {
			for round := range 25 {
				const n = 8
				job := h.create("k" + strconv.Itoa(round))
				racers := make([]onejob.Attempt, n)
				for i := range racers {
					racers[i] = h.begin(job, "provider-"+strconv.Itoa(i))
					_, err := h.op.DetachAttempt(h.ctx, racers[i].ID, someone)
					require.NoError(h, err)
				}
				jobs, errs := make([]onejob.Job, n), make([]error, n)
				together(n, func(i int) {
					jobs[i], errs[i] = h.jobs.Complete(h.ctx, racers[i], []byte(racers[i].Provider))
				})
				h.oneWinner(job, racers, jobs, errs)
				require.Len(h, h.lateLines(), (round+1)*(n-1))
			}
		},
	},
	testCase{
		name: "one attempt completes twice at one instant",
		why:  "a webhook and a handler may bring the same attempt's result: both have won when they bring the same, and one when they do not",
		run: func(h *harness) {
			for round := range 50 {
				_, a := h.start("k" + strconv.Itoa(round))
				same := round%2 == 0
				jobs, errs := make([]onejob.Job, 2), make([]error, 2)
				together(2, func(i int) {
					result := "result"
					if !same {
						result = strconv.Itoa(i)
					}
					jobs[i], errs[i] = h.jobs.Complete(h.ctx, a, []byte(result))
				})
				if same {
					require.NoError(h, errors.Join(errs...))
				} else {
					require.True(h, (errs[0] == nil) != (errs[1] == nil), "%v, %v", errs[0], errs[1])
					require.ErrorIs(h, errors.Join(errs...), onejob.ErrResultMismatch)
				}
				require.Equal(h, jobs[0], jobs[1])
			}
			require.Empty(h, h.lateLines())
		},
	},
	testCase{
		name: "CancelJob after Complete",
		why:  "what is done is done: the operator is told so, with the result",
		run: func(h *harness) {
			_, a := h.start("k")
			done := h.complete(a, "result")
			job, err := h.op.CancelJob(h.ctx, done.ID, someone)
			e := h.refusal(err, onejob.ErrCompleted)
			require.Equal(h, done, job)
			require.Equal(h, done, e.Job)
			require.Equal(h, a.ID, e.Attempt.ID)
		},
	},
	testCase{
		name: "Complete after CancelJob",
		why:  "nothing can win a job that was withdrawn, and what the provider did remains visible",
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached} {
				job, a := h.inState(string(state), state)
				canceled, err := h.op.CancelJob(h.ctx, job.ID, someone)
				require.NoError(h, err)
				require.Equal(h, onejob.StatusCanceled, canceled.Status())
				require.Equal(h, someone, canceled.Decision)
				require.EqualValues(h, 2, canceled.Version)
				_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, a, now)
				h.loses(a, onejob.StateLate, canceled)
			}
		},
	},
	testCase{
		name: "an attempt that is open when its job is canceled",
		why:  "its provider may have acted, so it stays open until someone knows, and no other may begin",
		run: func(h *harness) {
			for name, end := range map[string]func(onejob.Attempt) (onejob.Job, error){
				"Refute":        func(a onejob.Attempt) (onejob.Job, error) { return h.op.Refute(h.ctx, a.ID, someone) },
				"CancelAttempt": func(a onejob.Attempt) (onejob.Job, error) { return h.op.CancelAttempt(h.ctx, a.ID, someone) },
				"Fail": func(a onejob.Attempt) (onejob.Job, error) {
					return h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused")))
				},
			} {
				job, a := h.start(name)
				job, err := h.op.CancelJob(h.ctx, job.ID, someone)
				require.NoError(h, err)
				require.Equal(h, a.ID, job.Attempt.ID)
				require.Equal(h, onejob.StateStarted, job.Attempt.State)
				_, err = h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
				require.Equal(h, job, h.refusal(err, onejob.ErrJobCanceled).Job)
				job, err = end(a)
				require.NoError(h, err, name)
				require.Equal(h, onejob.StatusCanceled, job.Status())
				require.Nil(h, job.Attempt)
				_, err = h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
				require.ErrorIs(h, err, onejob.ErrJobCanceled)
			}
		},
	},
	testCase{
		name: "CancelJob and Complete at one instant",
		why:  "exactly one of them decides, both are told the same, and the job changes once",
		run: func(h *harness) {
			for round := range 100 {
				job, a := h.start("k" + strconv.Itoa(round))
				var jobs [2]onejob.Job
				var errs [2]error
				together(2, func(i int) {
					if i == round%2 {
						jobs[0], errs[0] = h.jobs.Complete(h.ctx, a, []byte("result"))
					} else {
						jobs[1], errs[1] = h.op.CancelJob(h.ctx, job.ID, someone)
					}
				})
				now, ended, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.EqualValues(h, 2, now.Version)
				if errs[0] == nil {
					require.ErrorIs(h, errs[1], onejob.ErrCompleted)
					require.Equal(h, onejob.JobCompleted, now.State)
					require.Equal(h, onejob.StateSucceeded, ended.State)
					require.Equal(h, now, jobs[0])
					require.Equal(h, now, jobs[1])
					continue
				}
				require.ErrorIs(h, errs[0], onejob.ErrLateResult)
				require.NoError(h, errs[1])
				require.Equal(h, onejob.JobCanceled, now.State)
				require.Equal(h, onejob.StateLate, ended.State)
				require.Nil(h, now.Result)
				require.Equal(h, now, jobs[0])
			}
		},
	},
	testCase{
		name: "CancelAttempt and Complete at one instant",
		why:  "either the attempt has won or it cannot win any more: there is no state in between",
		run: func(h *harness) {
			for round := range 100 {
				_, a := h.start("k" + strconv.Itoa(round))
				var errs [2]error
				together(2, func(i int) {
					if i == round%2 {
						_, errs[0] = h.jobs.Complete(h.ctx, a, []byte("result"))
					} else {
						_, errs[1] = h.op.CancelAttempt(h.ctx, a.ID, someone)
					}
				})
				job, ended, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				if errs[0] == nil {
					require.ErrorIs(h, errs[1], onejob.ErrAttemptEnded)
					require.Equal(h, onejob.JobCompleted, job.State)
					require.Equal(h, onejob.StateSucceeded, ended.State)
					require.Empty(h, ended.Decision)
					continue
				}
				require.ErrorIs(h, errs[0], onejob.ErrLateResult)
				require.NoError(h, errs[1])
				require.Equal(h, onejob.StatusPending, job.Status())
				require.Equal(h, onejob.StateCanceled, ended.State)
				require.False(h, ended.LateAt.IsZero())
			}
		},
	},
)

// oneWinner requires that one racer won, that each other was told so, and that
// the rows agree.
func (h *harness) oneWinner(job onejob.Job, racers []onejob.Attempt, jobs []onejob.Job, errs []error) {
	h.Helper()
	now, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
	require.NoError(h, err)
	require.Equal(h, onejob.JobCompleted, now.State)
	require.Equal(h, now.Attempt.Provider, string(now.Result))
	list := h.attempts(job)
	for i, a := range racers {
		require.Equal(h, now, jobs[i])
		if a.ID == now.Attempt.ID {
			require.NoError(h, errs[i])
			require.Equal(h, onejob.StateSucceeded, list[i].State)
			continue
		}
		e := h.refusal(errs[i], onejob.ErrLateResult)
		require.Equal(h, now.Attempt.ID, e.Attempt.ID)
		require.Equal(h, now, e.Job)
		require.Equal(h, onejob.StateLate, list[i].State)
	}
}
