package storetest

import (
	"errors"
	"io"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("sent twice",
	testCase{
		name: "a driver sends each statement twice",
		why:  "database/sql runs a statement again when the connection ended, with a nil error: the second time must find what the first one did",
		run: func(h *harness) {
			jobs := h.over(&resending{Store: h.store})
			h.steps(jobs)
		},
	},
	testCase{
		name: "each first answer is lost",
		why:  "what was applied is looked up or repeated with the same IDs, and the caller does not notice",
		run: func(h *harness) {
			jobs := h.over(&losing{Store: h.store})
			h.steps(jobs)
		},
	},
	testCase{
		name: "no answer comes at all",
		why:  "ErrUnavailable carries the minted attempt, and the repeat with its ID gives the definite answer",
		run: func(h *harness) {
			lost := &losing{Store: h.store, silent: true}
			jobs := h.over(lost)
			_, _, err := jobs.Start(h.ctx, intent("k"), try("primary"))
			e := h.refusal(err, onejob.ErrUnavailable)
			require.ErrorIs(h, err, io.ErrUnexpectedEOF)
			again := try("primary")
			again.ID = e.Attempt.ID
			for range 2 {
				job, a, err := h.jobs.Start(h.ctx, intent("k"), again)
				require.NoError(h, err)
				require.Equal(h, e.Attempt.ID, a.ID)
				require.Equal(h, 1, a.Number)
				require.Equal(h, a.ID, job.Attempt.ID)
			}
			_, a, err := h.jobs.GetAttempt(h.ctx, again.ID)
			require.NoError(h, err)
			_, err = jobs.Fail(h.ctx, a, onejob.NoEffect(errRefused))
			require.ErrorIs(h, err, onejob.ErrUnavailable)
			job, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errRefused))
			require.NoError(h, err)

			_, err = jobs.BeginAttempt(h.ctx, job, try("fallback"))
			again = try("fallback")
			again.ID = h.refusal(err, onejob.ErrUnavailable).Attempt.ID
			a, err = h.jobs.BeginAttempt(h.ctx, job, again)
			require.NoError(h, err)
			require.Equal(h, 2, a.Number)
			other := try("primary")
			other.ID = again.ID
			_, err = h.jobs.BeginAttempt(h.ctx, job, other)
			require.Equal(h, "Try.ID", h.refusal(err, onejob.ErrInvalid).Field)
			_, err = jobs.Complete(h.ctx, a, []byte("result"))
			require.ErrorIs(h, err, onejob.ErrUnavailable)
			require.Equal(h, a.ID, h.complete(a, "result").Attempt.ID)
			require.Empty(h, h.lateLines())
		},
	},
	testCase{
		name: "an attempt that went on meanwhile",
		why:  "repeated with its ID, an attempt that is unknown is in doubt, and one that is over or detached has ended: it is not begun again",
		run: func(h *harness) {
			for _, state := range allStates {
				job, a := h.inState(string(state), state)
				again := try("primary")
				again.ID = a.ID
				got, err := h.jobs.BeginAttempt(h.ctx, job, again)
				switch state {
				case onejob.StateStarted:
					require.NoError(h, err)
					require.Equal(h, a, got)
				case onejob.StateUnknown:
					require.Equal(h, a.ID, h.refusal(err, onejob.ErrInDoubt).Attempt.ID)
				default:
					require.Equal(h, state, h.refusal(err, onejob.ErrAttemptEnded).Attempt.State)
				}
			}
		},
	},
)

// over returns a Jobs on another store, with the harness's log.
func (h *harness) over(store onejob.Store) *onejob.Jobs {
	own := h.store
	defer func() {
		h.store = own
		h.use(onejob.Options{})
	}()
	h.store = store
	h.use(onejob.Options{})
	return h.jobs
}

// steps goes the whole way of several jobs, each step of which must succeed and
// be there once.
func (h *harness) steps(jobs *onejob.Jobs) {
	h.Helper()
	op := onejob.NewOperator(jobs)
	job, created, err := jobs.Create(h.ctx, intent("k"))
	require.NoError(h, err)
	require.True(h, created)
	a, err := jobs.BeginAttempt(h.ctx, job, try("primary"))
	require.NoError(h, err)
	a, err = jobs.Extend(h.ctx, a, 2*time.Hour)
	require.NoError(h, err)
	a, err = jobs.SetExternalRef(h.ctx, a, "ref")
	require.NoError(h, err)
	_, err = jobs.MarkUnknown(h.ctx, a, errors.New("no answer"))
	require.NoError(h, err)
	_, err = op.DetachAttempt(h.ctx, a.ID, someone)
	require.NoError(h, err)
	b, err := jobs.BeginAttempt(h.ctx, job, try("fallback"))
	require.NoError(h, err)
	_, err = jobs.Fail(h.ctx, b, onejob.NoEffect(errRefused))
	require.NoError(h, err)
	won, err := jobs.Complete(h.ctx, a, []byte("result"))
	require.NoError(h, err)
	require.Equal(h, a.ID, won.Attempt.ID)
	require.EqualValues(h, 2, won.Version)
	require.Len(h, h.attempts(job), 2)
	require.Empty(h, h.lateLines())

	job, c, err := jobs.Start(h.ctx, intent("withdrawn"), try("primary"))
	require.NoError(h, err)
	require.Equal(h, c.ID, job.Attempt.ID)
	job, err = op.CancelJob(h.ctx, job.ID, someone)
	require.NoError(h, err)
	require.EqualValues(h, 2, job.Version)
	_, err = jobs.Complete(h.ctx, c, []byte(canary))
	require.ErrorIs(h, err, onejob.ErrLateResult)
	require.Len(h, h.attempts(job), 1)
	require.Len(h, h.lateLines(), 1)

	done, err := jobs.Do(h.ctx, intent("done"), try("primary"), returning("result"))
	require.NoError(h, err)
	require.Equal(h, "result", string(done.Result))
}
