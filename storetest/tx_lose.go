package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("refusals in transactions",
	testCase{
		name:  "a refusal leaves it usable",
		why:   "no refusal may poison the host's transaction: what follows still works, and all of it commits",
		needs: []ability{transactions, operating},
		run: func(h *harness) {
			h.hostTable()
			h.create("taken")
			h.inState("won", onejob.StateSucceeded)
			_, gone := h.inState("gone", onejob.StateSucceeded)
			h.purge(2)
			h.removeTombstones(2)
			_, retired := h.inState("retired", onejob.StateSucceeded)
			h.purge(1)
			_, winner := h.inState("won", onejob.StateSucceeded)

			for name, c := range map[string]struct {
				refuse func(ctx context.Context, tx *sql.Tx) error
				want   error
			}{
				"conflict": {h.creating(func(in *onejob.Intent) { in.Key, in.Kind = "taken", "refund" }), onejob.ErrKeyConflict},
				"retired":  {h.creating(func(in *onejob.Intent) { in.Key = "retired" }), onejob.ErrKeyRetired},
				"invalid":  {h.creating(func(in *onejob.Intent) { in.Owner = "" }), onejob.ErrInvalid},
				"mismatch": {h.completing(winner), onejob.ErrResultMismatch},
				"purged":   {h.completing(retired), onejob.ErrResultMismatch},
				"missing":  {h.completing(gone), onejob.ErrNotFound},
			} {
				err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					require.NoError(h, addHostRow(ctx, tx, name))
					require.ErrorIs(h, c.refuse(ctx, tx), c.want, name)
					_, created, err := h.jobs.CreateTx(ctx, tx, intent("after-"+name))
					require.NoError(h, err, name)
					require.True(h, created)
					return addHostRow(ctx, tx, name)
				})
				require.NoError(h, err, name)
				require.Equal(h, 2, h.hostRows(name), name)
				_, err = h.jobs.GetByKey(h.ctx, "owner-1", "after-"+name)
				require.NoError(h, err, name)
			}
		},
	},
	testCase{
		name:  "a completion that loses undoes all of it",
		why:   "a host that does not look at the error must not keep rows for a loser, nor may the evidence of the loss go with them",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			for _, returned := range []error{nil, errHost} {
				key := "swallowed"
				if returned != nil {
					key = "returned"
				}
				job, a := h.inState(key, onejob.StateDetached)
				won := h.complete(h.begin(job, "fallback"), "the winner's")
				err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					require.NoError(h, addHostRow(ctx, tx, key))
					_, _, err := h.jobs.CreateTx(ctx, tx, intent(key+"-next"))
					require.NoError(h, err)
					now, err := h.jobs.CompleteTx(ctx, tx, a, []byte("the loser's"))
					require.Equal(h, won, now)
					require.Equal(h, won, h.refusal(err, onejob.ErrLateResult).Job)
					require.NoError(h, addHostRow(ctx, tx, key))
					return returned
				})
				if returned != nil {
					require.Same(h, returned, err)
				} else {
					require.Equal(h, won, h.refusal(err, onejob.ErrLateResult).Job)
				}
				require.Zero(h, h.hostRows(key))
				_, err = h.jobs.GetByKey(h.ctx, "owner-1", key+"-next")
				require.ErrorIs(h, err, onejob.ErrNotFound)
				h.evidence(a, onejob.StateLate, "the loser's")
			}
		},
	},
	testCase{
		name:  "each completion that loses keeps its evidence",
		why:   "every result that was thrown away may be an effect that somebody has to undo, also the first of two in one transaction",
		needs: []ability{transactions},
		run: func(h *harness) {
			_, attempts := h.racers("k", 3)
			h.complete(attempts[2], "the winner's")
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				for _, a := range attempts[:2] {
					_, err := h.jobs.CompleteTx(ctx, tx, a, []byte(a.ID))
					require.ErrorIs(h, err, onejob.ErrLateResult)
				}
				return nil
			})
			require.ErrorIs(h, err, onejob.ErrLateResult)
			for _, a := range attempts[:2] {
				h.evidence(a, onejob.StateLate, string(a.ID))
			}
		},
	},
	testCase{
		name:  "a canceled attempt that loses keeps its state",
		why:   "a terminal state never changes; the evidence stands beside it, also on a job that nobody has won",
		needs: []ability{transactions},
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateCanceled)
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("the loser's"))
				require.ErrorIs(h, err, onejob.ErrLateResult)
				return nil
			})
			require.ErrorIs(h, err, onejob.ErrLateResult)
			h.evidence(a, onejob.StateCanceled, "the loser's")
			h.complete(h.begin(job, "fallback"), "result")
		},
	},
	testCase{
		name:  "a loser through another Jobs of the same store",
		why:   "the transaction knows what was done in it, whichever Jobs did it: nothing of the host's may be kept for a loser",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, loser := h.inState("k", onejob.StateCanceled)
			twin := onejob.New(h.store, nil)
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(h, addHostRow(ctx, tx, "k"))
				_, err := twin.CompleteTx(ctx, tx, loser, []byte("the loser's"))
				require.ErrorIs(h, err, onejob.ErrLateResult)
				return nil
			})
			require.ErrorIs(h, err, onejob.ErrLateResult)
			require.Zero(h, h.hostRows("k"))
			h.evidence(loser, onejob.StateCanceled, "the loser's")
		},
	},
	testCase{
		name:  "two attempts of one job undo each other",
		why:   "the second loses to a first that is rolled back with it, so neither may have won and neither is late",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, attempts := h.racers("k", 3)
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				require.NoError(h, addHostRow(ctx, tx, "k"))
				_, err := h.jobs.CompleteTx(ctx, tx, attempts[0], []byte("first"))
				require.NoError(h, err)
				_, err = h.jobs.CompleteTx(ctx, tx, attempts[1], []byte("second"))
				require.ErrorIs(h, err, onejob.ErrLateResult)
				return nil
			})
			require.Equal(h, "tx", h.refusal(err, onejob.ErrInvalid).Field, "neither has lost to anything that stands")
			for i, a := range attempts {
				if i < 2 {
					a.State = onejob.StateDetached
				}
				h.untouched(a, "k")
			}
			h.complete(attempts[1], "second")
			h.wonBy(attempts[1], "second")
		},
	},
	testCase{
		name:  "the winner's repeat does not vouch for a rollback",
		why:   "a winner that stands from before says nothing of the transaction it is repeated in: no success may be told of rows that are not there",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, a := h.start("k")
			h.complete(a, "result")
			ctx, cancel := context.WithCancel(h.ctx)
			err := h.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
				require.NoError(h, err)
				require.NoError(h, addHostRow(ctx, tx, "k"))
				cancel()
				return nil
			})
			require.Equal(h, err == nil, h.hostRows("k") == 1, "Tx returned %v", err)
		},
	},
	testCase{
		name:  "8 race for one job, one keeps its rows",
		why:   "the swap decides between transactions as it does between calls, and only the winner's rows stay",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hostTable()
			_, attempts := h.racers("k", 8)
			errs := make([]error, len(attempts))
			together(len(attempts), func(i int) {
				errs[i] = h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					if err := addHostRow(ctx, tx, "k"); err != nil {
						return err
					}
					_, err := h.jobs.CompleteTx(ctx, tx, attempts[i], []byte(attempts[i].ID))
					return err
				})
			})
			won := 0
			for i, err := range errs {
				if err == nil {
					won++
					h.wonBy(attempts[i], string(attempts[i].ID))
				} else {
					require.ErrorIs(h, err, onejob.ErrLateResult)
					h.evidence(attempts[i], onejob.StateLate, string(attempts[i].ID))
				}
			}
			require.Equal(h, 1, won)
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
	testCase{
		name:  "8 create one key, one of them creates",
		why:   "those who wait for a key that is not committed get its job, or the key itself when it was rolled back",
		needs: []ability{transactions},
		run: func(h *harness) {
			created := make([]bool, 8)
			ids := make([]onejob.JobID, len(created))
			errs := make([]error, len(created))
			together(len(created), func(i int) {
				errs[i] = h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
					job, fresh, err := h.jobs.CreateTx(ctx, tx, intent("k"))
					ids[i], created[i] = job.ID, fresh
					if err == nil && i%2 == 0 {
						return errHost
					}
					return err
				})
			})
			job, err := h.jobs.GetByKey(h.ctx, "owner-1", "k")
			require.NoError(h, err)
			n := 0
			for i, err := range errs {
				if i%2 == 0 {
					require.ErrorIs(h, err, errHost)
					continue
				}
				require.NoError(h, err)
				require.Equal(h, job.ID, ids[i])
				if created[i] {
					n++
				}
			}
			require.Equal(h, 1, n)
		},
	},
)

func (h *harness) creating(change func(*onejob.Intent)) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		in := intent("new")
		change(&in)
		_, _, err := h.jobs.CreateTx(ctx, tx, in)
		return err
	}
}

func (h *harness) completing(a onejob.Attempt) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("another result"))
		return err
	}
}

// evidence requires that the attempt is in the state and tells of a result that
// came too late.
func (h *harness) evidence(a onejob.Attempt, state onejob.State, result string) {
	h.Helper()
	_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, state, now.State)
	require.False(h, now.LateAt.IsZero())
	require.Equal(h, int64(len(result)), now.LateSize)
	require.Equal(h, sha256.Sum256([]byte(result)), now.LateDigest)
}
