package onejob_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A wrapped transaction is known by the context that Tx gave.
func TestTxKnowsALoserThroughAWrappedTransaction(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		jobs := onejob.New(store, nil)
		_, a, err := jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}, lockTry)
		require.NoError(t, err)
		_, err = onejob.NewOperator(jobs).CancelAttempt(t.Context(), a.ID, lockWord)
		require.NoError(t, err)
		err = jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := jobs.CompleteTx(ctx, &sqlx.Tx{Tx: tx}, a, []byte("late"))
			require.ErrorIs(t, err, onejob.ErrLateResult)
			return nil
		})
		require.ErrorIs(t, err, onejob.ErrLateResult)
	}
	t.Run("postgres", func(t *testing.T) { t.Parallel(); check(t, dbtest.Postgres(t)) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); check(t, dbtest.SQLite(t)) })
}

// The same attempt may win elsewhere after its transaction has died: that says
// nothing of the host's rows, which died with it.
func TestTxDoesNotTakeAnothersCommitForItsOwn(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	_, err := l.db.Exec(`CREATE TABLE ledger (line text)`)
	require.NoError(t, err)
	err = l.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO ledger VALUES ('line')`)
		require.NoError(t, err)
		_, err = l.jobs.CompleteTx(ctx, tx, l.a, []byte("result"))
		require.NoError(t, err)
		var pid int
		require.NoError(t, tx.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid))
		_, err = l.db.Exec(`SELECT pg_terminate_backend($1)`, pid)
		require.NoError(t, err)
		_, err = l.jobs.Complete(t.Context(), l.a, []byte("result")) // a webhook
		require.NoError(t, err)
		return nil
	})
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	var lines int
	require.NoError(t, l.db.QueryRow(`SELECT count(*) FROM ledger`).Scan(&lines))
	require.Zero(t, lines)
}

// valueStore is a third party's store that cannot be compared.
type valueStore struct {
	*onejob.SQLiteStore
	hooks any
}

func TestAStoreNeedNotBeComparable(t *testing.T) {
	t.Parallel()
	jobs := onejob.New(valueStore{dbtest.SQLite(t), map[string]int{}}, nil)
	in := onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}
	err := jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, _, err := jobs.CreateTx(ctx, tx, in); err != nil {
			return err
		}
		_, err := jobs.GetByKey(ctx, in.Owner, in.Key)
		return err
	})
	require.NoError(t, err)
}

// A loser in a transaction of the host's own has nothing to do with the one
// whose context happens to be at hand.
func TestTxIsNotBlamedForAnotherTransaction(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	_, err := l.db.Exec(`CREATE TABLE ledger (line text)`)
	require.NoError(t, err)
	_, err = l.op.CancelAttempt(t.Context(), l.a.ID, lockWord)
	require.NoError(t, err)
	require.NoError(t, l.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		other, err := l.db.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer other.Rollback()
		_, err = l.jobs.CompleteTx(ctx, other, l.a, []byte("late"))
		require.ErrorIs(t, err, onejob.ErrLateResult)
		_, err = tx.ExecContext(ctx, `INSERT INTO ledger VALUES ('line')`)
		return err
	}))
	var lines int
	require.NoError(t, l.db.QueryRow(`SELECT count(*) FROM ledger`).Scan(&lines))
	require.Equal(t, 1, lines)
}
