package storetest

import (
	"context"
	"database/sql"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("order of return",
	testCase{
		name:  "a completion that waited for another of the same attempt",
		why:   "a webhook comes twice at once: the second has seen the attempt as it was before the first, and must be told what became of it, with and without OnComplete",
		needs: []ability{transactions},
		run: func(h *harness) {
			store := h.store.(onejob.TxStore)
			nothing := func(context.Context, *sql.Tx, onejob.Job) error { return nil }
			for _, c := range []struct {
				key    string
				hook   func(context.Context, *sql.Tx, onejob.Job) error
				cancel bool
				want   error
			}{
				{"won", nil, false, nil},
				{"won, hook", nothing, false, nil},
				{"late", nil, true, onejob.ErrLateResult},
				{"late, hook", nothing, true, onejob.ErrLateResult},
			} {
				h.use(onejob.Options{OnComplete: c.hook})
				job, a := h.inState(c.key, onejob.StateStarted)
				if c.cancel {
					_, err := h.op.CancelJob(h.ctx, job.ID, someone)
					require.NoError(h, err)
				}
				second := make(chan error, 1)
				err := store.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
					require.ErrorIs(h, err, c.want)
					called := make(chan struct{})
					go func() {
						close(called)
						_, err := h.jobs.Complete(h.ctx, a, []byte("result"))
						second <- err
					}()
					<-called
					// Reads of our own give the other time to get to where it waits.
					for range 20 {
						if _, err := store.FindTx(ctx, tx, onejob.FindParams{ID: job.ID, AnyOwner: true, Clock: time.Now}); err != nil {
							return err
						}
					}
					return nil
				})
				require.NoError(h, err)
				require.ErrorIs(h, <-second, c.want, c.key)
			}
		},
	},
)
