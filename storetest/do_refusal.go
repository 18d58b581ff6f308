package storetest

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("the whole way",
	testCase{
		name: "the refusal of Do shows the attempt as it stands",
		why:  "whoever handles it needs the provider's handle, which the call has set, to look there; not the attempt as it began",
		run: func(h *harness) {
			gone := errors.New("connection lost")
			for _, c := range []struct {
				key     string
				err     error
				refusal error
				state   onejob.State
			}{
				{"in doubt", gone, onejob.ErrInDoubt, onejob.StateUnknown},
				{"failed", onejob.NoEffect(gone), onejob.ErrFailed, onejob.StateFailed},
			} {
				_, err := h.jobs.Do(h.ctx, intent(c.key), try("primary"), func(ctx context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
					_, err := h.jobs.SetExternalRef(ctx, a, "ch_1")
					require.NoError(h, err)
					return nil, c.err
				})
				told := h.refusal(err, c.refusal).Attempt
				require.Equal(h, c.state, told.State)
				require.Equal(h, "ch_1", told.ExternalRef)
				require.Equal(h, gone.Error(), told.Cause)
				_, stands, err := h.jobs.GetAttempt(h.ctx, told.ID)
				require.NoError(h, err)
				require.Equal(h, stands, *told)
			}
		},
	},
)
