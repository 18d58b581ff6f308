package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("the whole way",
	testCase{
		name: "Do once and again",
		why:  "the first Do calls, and each one after it gets the completed job and calls nobody",
		run: func(h *harness) {
			var calls atomic.Int32
			var during onejob.Job
			call := func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
				calls.Add(1)
				var err error
				during, err = h.jobs.Get(ctx, job.Owner, job.ID)
				if err == nil && *during.Attempt != a {
					err = errors.New("the attempt is not the one that is stored")
				}
				return []byte("result"), err
			}
			first, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), call)
			require.NoError(h, err)
			require.Equal(h, onejob.StatusRunning, during.Status(), "the attempt is durable before the call")
			require.Equal(h, onejob.StatusCompleted, first.Status())
			require.Equal(h, "result", string(first.Result))
			for _, provider := range []string{"primary", "fallback"} {
				again, err := h.jobs.Do(h.ctx, intent("k"), try(provider), call)
				require.NoError(h, err)
				require.Equal(h, first, again)
			}
			require.EqualValues(h, 1, calls.Load())
		},
	},
	testCase{
		name: "32 callers Do at once",
		why:  "one of them calls, the others learn that it is under way or done",
		run: func(h *harness) {
			var calls atomic.Int32
			call := func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				calls.Add(1)
				return []byte("result"), nil
			}
			errs := make([]error, 32)
			together(len(errs), func(i int) { _, errs[i] = h.jobs.Do(h.ctx, intent("k"), try("primary"), call) })
			require.EqualValues(h, 1, calls.Load())
			for _, err := range errs {
				if err != nil {
					require.ErrorIs(h, err, onejob.ErrAttemptOpen)
				}
			}
		},
	},
	testCase{
		name: "the call panics",
		why:  "a panic may come after the effect: the attempt is unknown, and the panic is not swallowed",
		run: func(h *harness) {
			require.PanicsWithValue(h, "boom", func() {
				_, _ = h.jobs.Do(h.ctx, intent("k"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
					panic("boom")
				})
			})
			h.doubtOf("k")
		},
	},
	testCase{
		name: "the call ends its goroutine",
		why:  "runtime.Goexit, which tests and some frameworks use, returns nothing and recovers nothing: unknown too",
		run: func(h *harness) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = h.jobs.Do(h.ctx, intent("k"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
					runtime.Goexit()
					return nil, nil
				})
			}()
			<-ended
			h.doubtOf("k")
		},
	},
	testCase{
		name: "another attempt is open",
		why:  "the caller gets the job to show, and its provider is not called",
		run: func(h *harness) {
			job, a := h.start("k")
			got, err := h.jobs.Do(h.ctx, intent("k"), try("fallback"), h.mustNotCall())
			e := h.refusal(err, onejob.ErrAttemptOpen)
			require.NotErrorIs(h, err, onejob.ErrInDoubt)
			require.Equal(h, a.ID, e.Attempt.ID)
			require.Equal(h, job, got)
			_, err = h.jobs.MarkUnknown(h.ctx, a, nil)
			require.NoError(h, err)
			got, err = h.jobs.Do(h.ctx, intent("k"), try("fallback"), h.mustNotCall())
			require.ErrorIs(h, err, onejob.ErrInDoubt)
			require.Equal(h, onejob.StatusUnknown, got.Status())
		},
	},
	testCase{
		name: "an attempt that was begun before",
		why:  "whoever began it may have called the provider: a Do with its ID may not",
		run: func(h *harness) {
			job, a := h.start("k")
			again := try("primary")
			again.ID = a.ID
			got, err := h.jobs.Do(h.ctx, intent("k"), again, h.mustNotCall())
			e := h.refusal(err, onejob.ErrInDoubt)
			require.Equal(h, a.ID, e.Attempt.ID)
			require.Equal(h, job, got)
			_, err = h.op.CancelAttempt(h.ctx, a.ID, someone)
			require.NoError(h, err)
			_, err = h.jobs.Do(h.ctx, intent("k"), again, h.mustNotCall())
			require.ErrorIs(h, err, onejob.ErrAttemptEnded)
		},
	},
	testCase{
		name: "an attempt that has won before",
		why:  "Do returns the completed job, now or long ago, also to one who repeats it with the ID of its attempt",
		run: func(h *harness) {
			_, a := h.start("k")
			first := h.complete(a, "result")
			again := try("primary")
			again.ID = a.ID
			got, err := h.jobs.Do(h.ctx, intent("k"), again, h.mustNotCall())
			require.NoError(h, err)
			require.Equal(h, first, got)
		},
	},
	testCase{
		name: "a result over the limit",
		why:  "the provider has acted and what it gave cannot be stored: that is a doubt, not a failure",
		run: func(h *harness) {
			h.use(onejob.Options{MaxResult: 8})
			job, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), returning("123456789"))
			e := h.refusal(err, onejob.ErrInDoubt)
			require.NotErrorIs(h, err, onejob.ErrInvalid)
			require.Equal(h, "result", h.refusal(e.Cause, onejob.ErrInvalid).Field)
			require.ErrorContains(h, err, "raise Options.MaxResult")
			require.Equal(h, onejob.StateUnknown, e.Attempt.State)
			require.Equal(h, onejob.StatusUnknown, job.Status())
			h.doubtOf("k")
			_, err = h.jobs.Do(h.ctx, intent("at the limit"), try("primary"), returning("12345678"))
			require.NoError(h, err)
		},
	},
	testCase{
		name: "overtaken while it called",
		why:  "the caller wanted a completed job and gets one, whoever completed it: with a result or an error of its own",
		run: func(h *harness) {
			for name, own := range map[string]error{"returned": nil, "failed": context.DeadlineExceeded, "refused": onejob.NoEffect(errRefused)} {
				var winner onejob.Job
				var lost onejob.Attempt
				job, err := h.jobs.Do(h.ctx, intent(name), try("primary"), func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
					lost = a
					_, err := h.op.DetachAttempt(ctx, a.ID, someone)
					if err != nil {
						return nil, err
					}
					winner, err = h.jobs.Do(ctx, intent(name), try("fallback"), returning("the winner's"))
					return []byte(canary), errors.Join(err, own)
				})
				require.NoError(h, err, name)
				require.Equal(h, "the winner's", string(job.Result))
				require.Equal(h, winner, job)
				_, now, err := h.jobs.GetAttempt(h.ctx, lost.ID)
				require.NoError(h, err)
				require.Equal(h, map[string]onejob.State{
					"returned": onejob.StateLate, "failed": onejob.StateDetached, "refused": onejob.StateFailed,
				}[name], now.State)
			}
			require.Len(h, h.lateLines(), 1)
			require.NotContains(h, h.log.String(), canary)
		},
	},
	testCase{
		name: "stopped from outside while it called",
		why:  "what was canceled meanwhile wins nothing, and the caller learns which it was",
		run: func(h *harness) {
			_, err := h.jobs.Do(h.ctx, intent("attempt"), try("primary"), func(ctx context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				return []byte(canary), errOf(h.op.CancelAttempt(ctx, a.ID, someone))
			})
			require.Equal(h, onejob.StateCanceled, h.refusal(err, onejob.ErrLateResult).Attempt.State)
			job, err := h.jobs.Do(h.ctx, intent("job"), try("primary"), func(ctx context.Context, job onejob.Job, _ onejob.Attempt) ([]byte, error) {
				return []byte(canary), errOf(h.op.CancelJob(ctx, job.ID, someone))
			})
			require.Equal(h, job, h.refusal(err, onejob.ErrLateResult).Job)
			require.Equal(h, onejob.StatusCanceled, job.Status())
		},
	},
	testCase{
		name: "the context of the call",
		why:  "a client that hangs up must not turn a running charge into a doubt: the call ends with the attempt, not with the request",
		run: func(h *harness) {
			type key struct{}
			parent, cancel := context.WithCancel(context.WithValue(h.ctx, key{}, "value"))
			job, err := h.jobs.Do(parent, intent("k"), try("primary"), func(ctx context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				deadline, ok := ctx.Deadline()
				cancel()
				if !ok || time.Until(deadline) > a.Timeout || ctx.Value(key{}) != "value" || ctx.Err() != nil {
					return nil, fmt.Errorf("deadline %v (%v), value %v, error %w", deadline, ok, ctx.Value(key{}), ctx.Err())
				}
				return []byte("result"), nil
			})
			require.NoError(h, err)
			require.Equal(h, "result", string(job.Result))
		},
	},
	testCase{
		name: "the call's own refusal",
		why:  "what was said of another job must not be taken for what is said of this one",
		run: func(h *harness) {
			_, other := h.start("other")
			h.complete(other, "other's")
			_, inner := h.jobs.BeginAttempt(h.ctx, onejob.Job{ID: other.JobID, Intent: intent("other")}, try("fallback"))
			require.ErrorIs(h, inner, onejob.ErrCompleted)
			for name, own := range map[string]error{"bare": inner, "wrapped": threeDeep(inner), "joined": errors.Join(inner, errRefused)} {
				_, err := h.jobs.Do(h.ctx, intent(name), try("primary"), failingCall(new(onejob.Attempt), own))
				e := h.refusal(err, onejob.ErrInDoubt)
				require.NotErrorIs(h, err, onejob.ErrCompleted, name)
				require.Equal(h, own, e.Cause, name)
			}
		},
	},
)

func returning(result string) onejob.Call {
	return func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		return bytes.Clone([]byte(result)), nil
	}
}

// mustNotCall is a call that must not be made.
func (h *harness) mustNotCall() onejob.Call {
	return func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		h.Error("the provider was called")
		return nil, nil
	}
}

// doubtOf requires that the job with the key is blocked by its one attempt, of
// which a cause tells.
func (h *harness) doubtOf(key string) {
	h.Helper()
	job, err := h.jobs.GetByKey(h.ctx, "owner-1", key)
	require.NoError(h, err)
	require.Equal(h, onejob.StatusUnknown, job.Status())
	list := h.attempts(job)
	require.Len(h, list, 1)
	require.NotEmpty(h, list[0].Cause)
	h.blocks(job, list[0])
}
