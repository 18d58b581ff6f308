package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// wantProviderKey is what hosts may compute for themselves: it never changes.
func wantProviderKey(job onejob.JobID, provider string, generation int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", job, provider, generation))
	return hex.EncodeToString(sum[:])[:32]
}

var beginNumbers = []testCase{
	{
		name: "numbers are dense",
		why:  "attempts count from 1 without a gap, whatever became of those before and whoever was refused in between",
		run: func(h *harness) {
			job := h.create("k")
			var want []onejob.AttemptID
			for range 3 {
				for _, end := range []func(context.Context, onejob.AttemptID, onejob.Decision) (onejob.Job, error){
					h.op.Refute, h.op.CancelAttempt, h.op.DetachAttempt,
				} {
					a := h.begin(job, "primary")
					require.Equal(h, len(want)+1, a.Number)
					_, err := h.jobs.BeginAttempt(h.ctx, job, try("primary"))
					require.ErrorIs(h, err, onejob.ErrAttemptOpen)
					_, err = end(h.ctx, a.ID, someone)
					require.NoError(h, err)
					want = append(want, a.ID)
				}
			}
			for i, a := range h.attempts(job) {
				require.Equal(h, want[i], a.ID)
				require.Equal(h, i+1, a.Number)
			}
		},
	},
	{
		name: "the provider key lasts until a failure is proven",
		why:  "a provider that may have acted must see the same key again; one that surely did not must not refuse the next try as a repeat",
		run: func(h *harness) {
			job := h.create("k")
			failed := map[string]int{}
			for _, step := range []struct {
				provider string
				end      func(context.Context, onejob.AttemptID, onejob.Decision) (onejob.Job, error)
				fails    bool
			}{
				{"primary", h.op.CancelAttempt, false},
				{"primary", h.op.DetachAttempt, false},
				{"fallback", h.op.CancelAttempt, false},
				{"primary", h.op.Refute, true},
				{"fallback", h.op.Refute, true},
				{"primary", h.op.CancelAttempt, false},
				{"primary", h.op.Refute, true},
				{"primary", h.op.CancelAttempt, false},
				{"fallback", h.op.CancelAttempt, false},
				{"Primary", h.op.CancelAttempt, false},
				{"größe 😀", h.op.Refute, true},
				{"größe 😀", h.op.Refute, true},
				{`back\slash'"`, h.op.Refute, true},
				{`back\slash'"`, h.op.CancelAttempt, false},
			} {
				a := h.begin(job, step.provider)
				require.Equal(h, wantProviderKey(job.ID, step.provider, failed[step.provider]), a.ProviderKey)
				require.Regexp(h, "^[0-9a-f]{32}$", a.ProviderKey)
				_, err := step.end(h.ctx, a.ID, someone)
				require.NoError(h, err)
				_, later, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, a.ProviderKey, later.ProviderKey)
				if step.fails {
					failed[step.provider]++
				}
			}
			other, a := h.start("other")
			require.Equal(h, wantProviderKey(other.ID, "primary", 0), a.ProviderKey)
			require.NotEqual(h, h.attempts(job)[0].ProviderKey, a.ProviderKey)
		},
	},
	{
		name: "a doubt does not change the provider key",
		why:  "an unknown attempt that is then canceled may have acted, so its successor must be recognizable as a repeat",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateUnknown)
			_, err := h.op.CancelAttempt(h.ctx, a.ID, someone)
			require.NoError(h, err)
			require.Equal(h, a.ProviderKey, h.begin(job, "primary").ProviderKey)
		},
	},
	{
		name: "the provider key is a fixed vector",
		why:  "all stores and all versions give a provider the same key, or it would take a repeat for a new request",
		run: func(h *harness) {
			t := try("primary")
			t.ID = onejob.AttemptID(string(nowhere) + "-0123456789abcdef")
			_, a, err := h.jobs.Start(h.ctx, intent("k"), t)
			require.NoError(h, err)
			require.Equal(h, "6ccb6590f544d0dada1cb36c6675d197", a.ProviderKey)
			_, err = h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused")))
			require.NoError(h, err)
			require.Equal(h, "547ab5aa815ea01c8c7ec3feb0d6573e", h.begin(onejob.Job{ID: nowhere, Intent: intent("k")}, "primary").ProviderKey)
		},
	},
}

// repeatOf repeats the attempt's call, with its ID.
func repeatOf(a onejob.Attempt) onejob.Try {
	return onejob.Try{ID: a.ID, Provider: a.Provider, Timeout: 2 * time.Hour}
}

var beginRepeats = []testCase{
	{
		name: "repeated, a started attempt is returned",
		why:  "a caller whose answer was lost asks again with the ID and gets what it began, unchanged",
		run: func(h *harness) {
			job, a := h.start("k")
			same, err := h.jobs.BeginAttempt(h.ctx, job, repeatOf(a))
			require.NoError(h, err)
			require.Equal(h, a, same)
			stored, same, err := h.jobs.Start(h.ctx, intent("k"), repeatOf(a))
			require.NoError(h, err)
			require.Equal(h, a, same)
			require.Equal(h, &a, stored.Attempt)
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
		},
	},
	{
		name: "repeated, an attempt that does not go on is refused",
		why:  "unknown is ErrInDoubt and every other state ErrAttemptEnded, with the attempt: whoever repeats must not call the provider",
		run: func(h *harness) {
			for _, state := range allStates[1:] {
				job, a := h.inState(string(state), state)
				h.repeatRefused(job, a, state)
			}
			job := h.create("overdue")
			h.repeatRefused(job, h.overdue(job, "primary"), onejob.StateUnknown)
			job, a := h.inState("followed", onejob.StateFailed)
			h.begin(job, "fallback")
			h.repeatRefused(job, a, onejob.StateFailed)
		},
	},
	{
		name: "an attempt's ID does not serve elsewhere",
		why:  "one ID is one call: under another job or another provider it is a mistake of the caller, in every state",
		run: func(h *harness) {
			other := h.create("other")
			for _, state := range allStates {
				job, a := h.inState(string(state), state)
				before := h.attempts(job)
				t := repeatOf(a)
				_, err := h.jobs.BeginAttempt(h.ctx, other, t)
				require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
				t.Provider = "another"
				_, err = h.jobs.BeginAttempt(h.ctx, job, t)
				require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
				require.NotErrorIs(h, err, onejob.ErrAttemptEnded)
				beside, _, err := h.jobs.Start(h.ctx, intent(string(state)), t)
				require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
				require.Equal(h, job.ID, beside.ID)
				require.Equal(h, before, h.attempts(job))
			}
			require.Empty(h, h.attempts(other))
		},
	},
	{
		name: "simultaneous calls with one ID begin one attempt",
		why:  "a driver may send a statement twice: the second must find the first and not make another",
		run: func(h *harness) {
			for round := range 10 {
				job := h.create(fmt.Sprint("k", round))
				t := try("primary")
				t.ID = onejob.AttemptID(string(job.ID) + "-00000000000000ff")
				got := make([]onejob.Attempt, 8)
				errs := make([]error, len(got))
				together(len(got), func(i int) { got[i], errs[i] = h.jobs.BeginAttempt(h.ctx, job, t) })
				list := h.attempts(job)
				require.Len(h, list, 1)
				for i := range got {
					require.NoError(h, errs[i])
					require.Equal(h, list[0], got[i])
				}
			}
		},
	},
}

// repeatRefused requires that the attempt, repeated, is refused for its state.
func (h *harness) repeatRefused(job onejob.Job, a onejob.Attempt, state onejob.State) {
	h.Helper()
	want := onejob.ErrAttemptEnded
	if state == onejob.StateUnknown {
		want = onejob.ErrInDoubt
	}
	before := h.attempts(job)
	now := h.holder(job.Intent)
	_, err := h.jobs.BeginAttempt(h.ctx, job, repeatOf(a))
	e := h.refusal(err, want)
	require.Equal(h, a.ID, e.Attempt.ID)
	require.Equal(h, state, e.Attempt.State)
	require.Equal(h, now, e.Job)
	beside, _, err := h.jobs.Start(h.ctx, intent(job.Key), repeatOf(a))
	require.ErrorIs(h, err, want)
	require.Equal(h, now, beside)
	require.Equal(h, before, h.attempts(job))
}
