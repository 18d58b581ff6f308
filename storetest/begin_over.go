package storetest

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("begin",
	testCase{
		name: "asked again for an attempt of a job that another has won",
		why:  "the attempt is still under way and its caller may be told so, but the job shows its winner, and Do has its answer",
		run: func(h *harness) {
			first, primary, err := h.jobs.Start(h.ctx, intent("k"), try("primary"))
			require.NoError(h, err)
			_, err = h.op.DetachAttempt(h.ctx, primary.ID, someone)
			require.NoError(h, err)
			fallback, err := h.jobs.BeginAttempt(h.ctx, first, try("fallback"))
			require.NoError(h, err)
			won, err := h.jobs.Complete(h.ctx, primary, []byte("result"))
			require.NoError(h, err)

			again := try("fallback")
			again.ID = fallback.ID
			job, a, err := h.jobs.Start(h.ctx, intent("k"), again)
			require.NoError(h, err)
			require.Equal(h, fallback, a)
			require.Equal(h, won, job)
			require.Equal(h, primary.ID, job.Attempt.ID, "the winner")

			job, err = h.jobs.Do(h.ctx, intent("k"), again, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				h.Error("the provider was called")
				return nil, nil
			})
			require.NoError(h, err)
			require.Equal(h, won, job)
		},
	},
)
