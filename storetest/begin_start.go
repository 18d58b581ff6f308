package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var beginStarts = []testCase{
	{
		name: "start makes the job and the attempt",
		why:  "on a new key both are there after one call, and are what every reader sees",
		run: func(h *harness) {
			job, a := h.start("k")
			require.Equal(h, 1, a.Number)
			require.Equal(h, &a, job.Attempt)
			require.Equal(h, onejob.StatusRunning, job.Status())
			require.Equal(h, job, h.holder(job.Intent))
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
		},
	},
	{
		name: "start finds the job",
		why:  "on a key that exists an attempt begins there, where BeginAttempt would let it",
		run: func(h *harness) {
			created := h.create("pending")
			job, a := h.start("pending")
			require.Equal(h, created.ID, job.ID)
			require.Equal(h, 1, a.Number)
			require.Equal(h, job, h.holder(job.Intent))
			for _, state := range []onejob.State{onejob.StateFailed, onejob.StateCanceled, onejob.StateDetached} {
				first, _ := h.inState(string(state), state)
				job, a := h.start(string(state))
				require.Equal(h, first.ID, job.ID)
				require.Equal(h, 2, a.Number)
				require.Equal(h, &a, job.Attempt)
				require.Equal(h, job, h.holder(job.Intent))
			}
		},
	},
	{
		name: "start with an ID makes the job with that ID",
		why:  "a repeated Start must write the same rows, so the attempt's ID names the job too",
		run: func(h *harness) {
			t := try("primary")
			t.ID = onejob.AttemptID(string(nowhere) + "-0123456789abcdef")
			job, a, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.NoError(h, err)
			require.Equal(h, nowhere, job.ID)
			require.Equal(h, t.ID, a.ID)
			same, b, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.NoError(h, err)
			require.Equal(h, job, same)
			require.Equal(h, a, b)
			_, _, err = h.jobs.Start(h.ctx, otherInput("k"), t)
			require.ErrorIs(h, err, onejob.ErrKeyConflict)
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
		},
	},
	{
		name: "start with the ID of another job is refused",
		why:  "the key holds one job and the ID names another: a mistake, answered with the job of the key",
		run: func(h *harness) {
			_, a := h.start("other")
			held := h.create("k")
			t := try("primary")
			t.ID = a.ID
			job, _, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
			require.Equal(h, held, job)
			require.Equal(h, held, h.refusal(err, onejob.ErrInvalid).Job)
			require.Empty(h, h.attempts(held))
			require.Equal(h, []onejob.Attempt{a}, h.attempts(onejob.Job{ID: a.JobID, Intent: intent("other")}))
		},
	},
	{
		name: "start repeated after an outage finds the job of another caller",
		why:  "the ID that ErrUnavailable carried was minted for a job that never came to be: repeating with it must work, once and again",
		run: func(h *harness) {
			held := h.create("k")
			t := try("primary")
			t.ID = onejob.AttemptID(string(nowhere) + "-0123456789abcdef")
			_, first, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.NoError(h, err)
			require.Equal(h, held.ID, first.JobID)
			_, again, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.NoError(h, err)
			require.Equal(h, first, again)
			require.Len(h, h.attempts(held), 1)
		},
	},
	{
		name: "start of a new key with the ID of another key's job is refused",
		why:  "the ID is taken, so no job can be made with it: a definite mistake, not a doubt to be repeated, and another owner's job is not shown",
		run: func(h *harness) {
			taken, a := h.start("other")
			for _, owner := range []string{"owner-1", "owner-2"} {
				in := intent("new")
				in.Owner = owner
				job, _, err := h.jobs.Start(h.ctx, in, repeatOf(a))
				require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
				require.Empty(h, job.ID)
				require.NotContains(h, err.Error(), strings.TrimPrefix(string(a.ID), string(a.JobID)))
				_, err = h.jobs.GetByKey(h.ctx, owner, "new")
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
			require.Equal(h, taken, h.holder(taken.Intent))
		},
	},
	{
		name: "simultaneous starts with one ID begin one attempt",
		why:  "all of them are the same call, so all get the same job and the same attempt",
		run: func(h *harness) {
			for round := range 10 {
				key := fmt.Sprint("k", round)
				t := try("primary")
				t.ID = onejob.AttemptID(fmt.Sprintf("01900000-0000-7000-8000-%012x-0123456789abcdef", round))
				jobs := make([]onejob.Job, 8)
				got := make([]onejob.Attempt, len(jobs))
				errs := make([]error, len(jobs))
				together(len(jobs), func(i int) { jobs[i], got[i], errs[i] = h.jobs.Start(h.ctx, intent(key), t) })
				held := h.holder(intent(key))
				for i := range jobs {
					require.NoError(h, errs[i])
					require.Equal(h, held, jobs[i])
					require.Equal(h, *held.Attempt, got[i])
				}
				require.Len(h, h.attempts(held), 1)
			}
		},
	},
	{
		name: "start against create",
		why:  "whichever of them makes the job, all get it and exactly one Start begins",
		run: func(h *harness) {
			for round := range 10 {
				key := fmt.Sprint("k", round)
				jobs := make([]onejob.Job, 32)
				first := make([]bool, len(jobs))
				errs := make([]error, len(jobs))
				together(len(jobs), func(i int) {
					if i%2 == 0 {
						jobs[i], first[i], errs[i] = h.jobs.Create(h.ctx, intent(key))
						return
					}
					jobs[i], _, errs[i] = h.jobs.Start(h.ctx, intent(key), try("primary"))
					first[i] = errs[i] == nil
				})
				held := h.holder(intent(key))
				n := [2]int{}
				for i := range jobs {
					require.Equal(h, held.ID, jobs[i].ID)
					if first[i] {
						n[i%2]++
					} else if i%2 == 1 {
						require.Equal(h, held.Attempt, h.refusal(errs[i], onejob.ErrAttemptOpen).Attempt)
						continue
					}
					require.NoError(h, errs[i])
				}
				require.LessOrEqual(h, n[0], 1)
				require.Equal(h, 1, n[1])
				require.Len(h, h.attempts(held), 1)
			}
		},
	},
	{
		name: "a canceled context starts nothing",
		why:  "a caller that gave up before anything was sent has done nothing",
		run: func(h *harness) {
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			_, _, err := h.jobs.Start(ctx, intent("k"), try("primary"))
			require.ErrorIs(h, err, onejob.ErrUnavailable)
			_, _, err = h.jobs.Create(ctx, intent("k"))
			require.ErrorIs(h, err, onejob.ErrUnavailable)
			_, err = h.jobs.GetByKey(h.ctx, "owner-1", "k")
			require.ErrorIs(h, err, onejob.ErrNotFound)
			job := h.create("k")
			_, err = h.jobs.BeginAttempt(ctx, job, try("primary"))
			require.ErrorIs(h, err, context.Canceled)
			require.Empty(h, h.attempts(job))
		},
	},
}
