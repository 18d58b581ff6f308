package storetest

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("doubt",
	testCase{
		name: "each cause given to Fail",
		why:  "failed needs proof that nothing happened, and whatever could have come from a provider that acted is unknown",
		run: func(h *harness) {
			for _, c := range doubtCauses {
				_, a := h.start(c.name)
				cause := c.make(h)
				require.Error(h, cause, c.name)
				job, err := h.jobs.Fail(h.ctx, a, cause)
				require.NoError(h, err, c.name)
				h.afterDoubt(c, job, a)
			}
		},
	},
	testCase{
		name: "each cause returned to Do",
		why:  "Do judges the error of its call as Fail does, says so by its sentinel, and does not hide the error",
		run: func(h *harness) {
			for _, c := range doubtCauses {
				cause := c.make(h)
				var a onejob.Attempt
				job, err := h.jobs.Do(h.ctx, intent(c.name), try("primary"), failingCall(&a, cause))
				want := onejob.ErrInDoubt
				if c.want == onejob.StateFailed {
					want = onejob.ErrFailed
				}
				e := h.refusal(err, want)
				require.ErrorIs(h, err, cause, c.name)
				require.Equal(h, a.ID, e.Attempt.ID, c.name)
				require.Equal(h, c.want, e.Attempt.State, c.name)
				h.afterDoubt(c, job, a)
			}
		},
	},
	testCase{
		name: "Fail without a cause",
		why:  "an attempt that ended without an error is completed: nil says nothing of what happened",
		run: func(h *harness) {
			_, a := h.start("k")
			_, err := h.jobs.Fail(h.ctx, a, nil)
			require.Equal(h, "cause", h.refusal(err, onejob.ErrInvalid).Field)
			_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			require.Equal(h, a, now)
		},
	},
	testCase{
		name: "proof for an attempt in doubt",
		why:  "knowledge beats doubt: an unknown attempt may still be failed with proof, and its cause is then what is known",
		run: func(h *harness) {
			_, a := h.inState("k", onejob.StateUnknown)
			job, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("the provider has no such charge")))
			require.NoError(h, err)
			require.Equal(h, onejob.StatusPending, job.Status())
			failed := h.attempts(job)[0]
			require.Equal(h, onejob.StateFailed, failed.State)
			require.Equal(h, "the provider has no such charge", failed.Cause)
			require.False(h, failed.EndedAt.IsZero())
		},
	},
	testCase{
		name: "doubt about an attempt that failed",
		why:  "what is proven does not become doubtful again by a caller who knows less",
		run: func(h *harness) {
			_, a := h.start("k")
			_, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused")))
			require.NoError(h, err)
			for _, settle := range []func() (onejob.Job, error){
				func() (onejob.Job, error) { return h.jobs.Fail(h.ctx, a, errors.New("no idea")) },
				func() (onejob.Job, error) { return h.jobs.MarkUnknown(h.ctx, a, nil) },
			} {
				job, err := settle()
				e := h.refusal(err, onejob.ErrAttemptEnded)
				require.Equal(h, onejob.StateFailed, e.Attempt.State)
				require.Equal(h, onejob.StatusPending, job.Status())
				require.Equal(h, "refused", h.attempts(job)[0].Cause)
			}
		},
	},
	testCase{
		name: "the first cause of a doubt stands",
		why:  "the first cause is the one nearest to what happened, and a repeat must not write over it",
		run: func(h *harness) {
			job, a := h.start("k")
			for _, cause := range []error{nil, errors.New("first"), errors.New("second"), nil} {
				_, err := h.jobs.MarkUnknown(h.ctx, a, cause)
				require.NoError(h, err)
			}
			_, err := h.jobs.Fail(h.ctx, a, errors.New("third"))
			require.NoError(h, err)
			now := h.attempts(job)[0]
			require.Equal(h, onejob.StateUnknown, now.State)
			require.Equal(h, "first", now.Cause)
			require.True(h, now.EndedAt.IsZero())
		},
	},
	testCase{
		name: "causes that no database would store",
		why:  "a cause is for people to read: one that is too long or not text is mended, not refused, for the doubt must be stored",
		run: func(h *harness) {
			const limit = 4 << 10
			for name, c := range map[string]struct{ cause, want string }{
				"at the limit":      {strings.Repeat("x", limit), strings.Repeat("x", limit)},
				"over it":           {strings.Repeat("x", limit+1), strings.Repeat("x", limit)},
				"a rune across it":  {strings.Repeat("x", limit-1) + "é", strings.Repeat("x", limit-1)},
				"wide runes only":   {strings.Repeat("€", limit), strings.Repeat("€", limit/3)},
				"a rune up to it":   {strings.Repeat("x", limit-2) + "éé", strings.Repeat("x", limit-2) + "é"},
				"NUL":               {"a\x00b", "a\uFFFDb"},
				"not UTF-8":         {"a\xff\xfeb", "a\uFFFDb"},
				"a half rune":       {"a\xe2\x82", "a\uFFFD"},
				"grown by mending":  {strings.Repeat("\x00", limit), strings.Repeat("\uFFFD", limit/3)},
				"quotes and breaks": {"'; DROP TABLE jobs; --\n\t\"", "'; DROP TABLE jobs; --\n\t\""},
			} {
				for kind, settle := range map[string]func(onejob.Attempt, error) (onejob.Job, error){
					"Fail": func(a onejob.Attempt, err error) (onejob.Job, error) { return h.jobs.Fail(h.ctx, a, err) },
					"Fail, proven": func(a onejob.Attempt, err error) (onejob.Job, error) {
						return h.jobs.Fail(h.ctx, a, onejob.NoEffect(err))
					},
					"MarkUnknown": func(a onejob.Attempt, err error) (onejob.Job, error) { return h.jobs.MarkUnknown(h.ctx, a, err) },
				} {
					job, a := h.start(kind + " " + name)
					_, err := settle(a, errors.New(c.cause))
					require.NoError(h, err, name)
					stored := h.attempts(job)[0].Cause
					require.Equal(h, c.want, stored, name)
					require.True(h, utf8.ValidString(stored), name)
				}
			}
		},
	},
)

// afterDoubt requires that the job, as returned and as read, is blocked or free
// as the cause's row says, and that a next attempt finds it so.
func (h *harness) afterDoubt(c doubtCause, job onejob.Job, a onejob.Attempt) {
	h.Helper()
	read, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err, c.name)
	require.Equal(h, c.want, now.State, c.name)
	require.NotEmpty(h, now.Cause, c.name)
	require.Equal(h, read, job, c.name)
	next, err := h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
	if c.want == onejob.StateFailed {
		require.Equal(h, onejob.StatusPending, job.Status(), c.name)
		require.Nil(h, job.Attempt, c.name)
		require.NoError(h, err, c.name)
		require.Equal(h, 2, next.Number, c.name)
		return
	}
	require.Equal(h, onejob.StatusUnknown, job.Status(), c.name)
	require.Equal(h, a.ID, job.Attempt.ID, c.name)
	e := h.refusal(err, onejob.ErrAttemptOpen)
	require.ErrorIs(h, err, onejob.ErrInDoubt, c.name)
	require.Equal(h, a.ID, e.Attempt.ID, c.name)
}

// failingCall is a call that fails with cause, and tells which attempt it was.
func failingCall(a *onejob.Attempt, cause error) onejob.Call {
	return func(_ context.Context, _ onejob.Job, attempt onejob.Attempt) ([]byte, error) {
		*a = attempt
		return nil, cause
	}
}
