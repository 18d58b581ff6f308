package storetest

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("the whole way, in an outage",
	testCase{
		name: "Do stores the result when the database is back",
		why:  "the provider has acted and its result is in hand: a restart of the database must not turn it into a doubt",
		run: func(h *harness) {
			s := &outage{Store: h.store}
			s.left.Store(7)
			h.store = s
			h.use(onejob.Options{})
			calls := 0
			job, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				calls++
				return []byte("result"), nil
			})
			require.NoError(h, err)
			require.Equal(h, "result", string(job.Result))
			require.Equal(h, 1, calls)
			require.Negative(h, s.left.Load(), "the outage is over")
		},
	},
	testCase{
		name: "an outage that outlasts the attempt leaves a doubt",
		why:  "the caller must not be invited to repeat, and with the attempt and the result in hand it can still complete",
		run: func(h *harness) {
			s := &outage{Store: h.store}
			s.left.Store(1 << 40)
			h.store = s
			h.use(onejob.Options{})
			job, err := h.jobs.Do(h.ctx, intent("k"), onejob.Try{Provider: "primary", Timeout: time.Millisecond},
				func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return []byte("result"), nil })
			e := h.refusal(err, onejob.ErrInDoubt)
			require.NotErrorIs(h, err, onejob.ErrUnavailable)
			require.NotEmpty(h, job.ID)
			require.Equal(h, job.ID, e.Job.ID)
			s.left.Store(0)
			h.complete(*e.Attempt, "result")
		},
	},
	testCase{
		name: "a detached attempt is told as what it is",
		why:  "a job whose attempt was detached is not blocked by it, and the error must not say so",
		run: func(h *harness) {
			h.use(onejob.Options{MaxResult: 10})
			for key, answer := range map[string]func() ([]byte, error){
				"failed":         func() ([]byte, error) { return nil, io.ErrUnexpectedEOF },
				"over the limit": func() ([]byte, error) { return make([]byte, 11), nil },
			} {
				_, err := h.jobs.Do(h.ctx, intent(key), try("primary"), func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
					_, err := h.op.DetachAttempt(ctx, a.ID, someone)
					require.NoError(h, err)
					return answer()
				})
				e := h.refusal(err, onejob.ErrInDoubt)
				require.Equal(h, onejob.StateDetached, e.Attempt.State)
				require.Equal(h, onejob.StatusPending, e.Job.Status())

				job, err := h.jobs.Do(h.ctx, intent(key+", and another won"), try("primary"), func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
					_, err := h.op.DetachAttempt(ctx, a.ID, someone)
					require.NoError(h, err)
					h.complete(h.begin(job, "fallback"), "theirs")
					return answer()
				})
				require.NoError(h, err)
				require.Equal(h, "theirs", string(job.Result))
			}
		},
	},
	testCase{
		name: "an attempt that was canceled during its call",
		why:  "whoever canceled it has decided: the job is not in doubt, whatever became of the result",
		run: func(h *harness) {
			h.use(onejob.Options{MaxResult: 10})
			job, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), func(ctx context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				_, err := h.op.CancelAttempt(ctx, a.ID, someone)
				require.NoError(h, err)
				return make([]byte, 11), nil
			})
			require.Equal(h, onejob.StateCanceled, h.refusal(err, onejob.ErrAttemptEnded).Attempt.State)
			require.Equal(h, onejob.StatusPending, job.Status())
		},
	},
	testCase{
		name: "a context that has ended before",
		why:  "nothing was sent, and the error carries the attempt to repeat all the same",
		run: func(h *harness) {
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			_, _, err := h.jobs.Start(ctx, intent("k"), try("primary"))
			e := h.refusal(err, onejob.ErrUnavailable)
			require.ErrorIs(h, err, context.Canceled)
			again := try("primary")
			again.ID = e.Attempt.ID
			job, a, err := h.jobs.Start(h.ctx, intent("k"), again)
			require.NoError(h, err)
			require.Equal(h, e.Attempt.ID, a.ID)
			_, err = h.jobs.BeginAttempt(ctx, job, try("fallback"))
			require.NotNil(h, h.refusal(err, onejob.ErrUnavailable).Attempt)
		},
	},
)

// outage is a store that cannot complete for so many steps.
type outage struct {
	onejob.Store
	left atomic.Int64
}

func (s *outage) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	if s.left.Add(-1) >= 0 {
		return onejob.Record{}, false, io.ErrUnexpectedEOF
	}
	return s.Store.Complete(ctx, p)
}
