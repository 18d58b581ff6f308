package storetest

import (
	"context"
	"database/sql"
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
	testCase{
		name:  "a result that OnComplete refuses",
		why:   "the provider has answered: the text must say so and what to do, and not what this library would do about a table of its own",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.use(onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, _ onejob.Job) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO no_table_of_the_hosts VALUES (1)")
				return err
			}})
			_, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				return []byte("result"), nil
			})
			h.refusal(err, onejob.ErrInDoubt)
			require.ErrorContains(h, err, "OnComplete refused its result: mend that, then Complete with Error.Attempt and the result")
			require.NotContains(h, err.Error(), "run Migrate")
		},
	},
	testCase{
		name: "an attempt that is ended behind its own doubt",
		why:  "a store may write the doubt of a detached attempt and read it a moment later; what somebody decided in between is no doubt any more",
		run: func(h *harness) {
			store := &meddled{Store: h.store}
			store.meddle = func(id onejob.AttemptID) {
				_, err := h.op.CancelAttempt(h.ctx, id, someone)
				require.NoError(h, err)
			}
			_, err := onejob.New(store, nil).Do(h.ctx, intent("k"), try("primary"), func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				_, err := h.op.DetachAttempt(h.ctx, a.ID, someone)
				require.NoError(h, err)
				return nil, errors.New("connection lost")
			})
			require.Equal(h, onejob.StateCanceled, h.refusal(err, onejob.ErrAttemptEnded).Attempt.State)
		},
	},
)

// meddled is a store in which somebody is quick: between a Settle and the look
// at what it left.
type meddled struct {
	onejob.Store
	meddle func(onejob.AttemptID)
}

func (s *meddled) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	_, applied, err := s.Store.Settle(ctx, p)
	if err != nil || !applied {
		return onejob.Record{}, applied, err
	}
	s.meddle(p.ID)
	rec, err := s.Find(ctx, onejob.FindParams{Attempt: p.ID, AnyOwner: true, Clock: p.Clock})
	return rec, true, err
}
