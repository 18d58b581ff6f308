package storetest

import (
	"context"
	"database/sql"
	"reflect"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("transactions",
	testCase{
		name:  "commits all of it",
		why:   "a job, a completion and the host's rows that belong together become durable together, and are seen by nobody before",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			open, a := h.start("k")
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				next, created, err := h.jobs.CreateTx(ctx, tx, intent("next"))
				require.NoError(h, err)
				require.True(h, created)
				require.Equal(h, onejob.StatusPending, next.Status())
				job, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
				require.NoError(h, err)
				require.Equal(h, []byte("result"), job.Result)
				require.Equal(h, int64(2), job.Version)
				require.Equal(h, a.ID, job.Attempt.ID)
				require.NoError(h, addHostRow(ctx, tx, "k"))

				outside, err := h.jobs.Get(h.ctx, open.Owner, open.ID)
				require.NoError(h, err)
				require.Equal(h, onejob.StatusRunning, outside.Status())
				require.Nil(h, outside.Result)
				_, err = h.jobs.GetByKey(h.ctx, "owner-1", "next")
				require.ErrorIs(h, err, onejob.ErrNotFound)
				return nil
			})
			require.NoError(h, err)
			h.wonBy(a, "result")
			_, err = h.jobs.GetByKey(h.ctx, "owner-1", "next")
			require.NoError(h, err)
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
	testCase{
		name:  "an error undoes all of it and comes back as it is",
		why:   "the host's error is the host's to branch on, and nothing of a function that failed may stay",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, a := h.start("k")
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				h.work(ctx, tx, a)
				return errHost
			})
			require.Same(h, errHost, err)
			h.nothing(a)
		},
	},
	testCase{
		name:  "a panic undoes all of it and goes on",
		why:   "a bug of the host's must neither be swallowed nor keep half of the work or a connection",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, a := h.start("k")
			for range 30 {
				require.PanicsWithValue(h, errHost, func() {
					_ = h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
						h.work(ctx, tx, a)
						panic(errHost)
					})
				})
			}
			h.nothing(a)
			h.complete(a, "result")
		},
	},
	testCase{
		name:  "a context that ends inside undoes all of it",
		why:   "a caller who was told of an error must not find the work done",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, a := h.start("k")
			ctx, cancel := context.WithCancel(h.ctx)
			err := h.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				h.work(ctx, tx, a)
				cancel()
				return nil
			})
			require.Error(h, err)
			h.nothing(a)
		},
	},
	testCase{
		name:  "one that has ended is refused",
		why:   "what cannot be committed must not be begun",
		needs: []ability{transactions},
		run: func(h *harness) {
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			err := h.jobs.Tx(ctx, func(context.Context, *sql.Tx) error {
				h.Error("the function ran")
				return nil
			})
			require.ErrorIs(h, err, context.Canceled)
			require.ErrorIs(h, err, onejob.ErrUnavailable)
		},
	},
	testCase{
		name:  "writes without it are refused at once",
		why:   "a write beside the transaction would wait for the transaction, and it for the write",
		needs: []ability{transactions, operating},
		run: func(h *harness) {
			job, a := h.start("k")
			var refused map[string]error
			require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, _ *sql.Tx) error {
				refused = h.writes(ctx, job, a)
				return nil
			}))
			require.NotEmpty(h, refused)
			for name, err := range refused {
				require.Equal(h, "ctx", h.refusal(err, onejob.ErrInvalid).Field, name)
			}
			h.complete(a, "result")
		},
	},
	testCase{
		name:  "reads see what it has written",
		why:   "a read under the function's context goes through the transaction: past it, the function would not see its own work",
		needs: []ability{transactions},
		run: func(h *harness) {
			_, a := h.start("k")
			require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				next, _, err := h.jobs.CreateTx(ctx, tx, intent("next"))
				require.NoError(h, err)
				seen, err := h.reads(ctx, next, "")
				require.NoError(h, err)
				for _, job := range seen {
					require.Equal(h, next, job)
				}
				done, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
				require.NoError(h, err)
				seen, err = h.reads(ctx, done, a.ID)
				require.NoError(h, err)
				for _, job := range seen {
					require.Equal(h, done, job)
				}
				return nil
			}))
		},
	},
	testCase{
		name:  "what is no transaction is refused",
		why:   "a nil transaction is a mistake of the host's, and a pool, with which each statement commits by itself, does not fit the type",
		needs: []ability{transactions},
		run: func(h *harness) {
			_, a := h.start("k")
			var none *sql.Tx
			for _, tx := range []onejob.Tx{nil, none} {
				_, _, err := h.jobs.CreateTx(h.ctx, tx, intent("next"))
				require.Equal(h, "tx", h.refusal(err, onejob.ErrInvalid).Field)
				_, err = h.jobs.CompleteTx(h.ctx, tx, a, []byte("result"))
				require.Equal(h, "tx", h.refusal(err, onejob.ErrInvalid).Field)
			}
			require.Equal(h, "fn", h.refusal(h.jobs.Tx(h.ctx, nil), onejob.ErrInvalid).Field)

			tx := reflect.TypeFor[onejob.Tx]()
			require.True(h, reflect.TypeFor[*sql.Tx]().Implements(tx))
			require.False(h, reflect.TypeFor[*sql.DB]().Implements(tx))
			require.False(h, reflect.TypeFor[*sql.Conn]().Implements(tx))
		},
	},
)

// work writes a job, a completion and a row of the host's.
func (h *harness) work(ctx context.Context, tx *sql.Tx, a onejob.Attempt) {
	h.Helper()
	_, _, err := h.jobs.CreateTx(ctx, tx, intent("next"))
	require.NoError(h, err)
	_, err = h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
	require.NoError(h, err)
	require.NoError(h, addHostRow(ctx, tx, "k"))
}

// nothing requires that nothing of work is there.
func (h *harness) nothing(a onejob.Attempt) {
	h.Helper()
	h.untouched(a, "k")
	_, err := h.jobs.GetByKey(h.ctx, "owner-1", "next")
	require.ErrorIs(h, err, onejob.ErrNotFound)
}

// wonBy requires that the attempt has completed its job with the result.
func (h *harness) wonBy(a onejob.Attempt, result string) {
	h.Helper()
	job, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, onejob.JobCompleted, job.State)
	require.Equal(h, []byte(result), job.Result)
	require.Equal(h, a.ID, job.Attempt.ID)
	require.Equal(h, onejob.StateSucceeded, now.State)
}
