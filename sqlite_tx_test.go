package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// liteHost is a service with a connection of its own to the store's file.
type liteHost struct {
	*testing.T
	db   *sql.DB
	jobs *onejob.Jobs
	op   *onejob.Operator
}

func newLiteHost(t *testing.T) *liteHost {
	t.Helper()
	path := dbtest.SQLitePath(t)
	jobs := onejob.New(dbtest.OpenSQLite(t, path), nil)
	db := litePool(t, path, "busy_timeout(5000)", "foreign_keys(1)")
	_, err := db.Exec("CREATE TABLE host_rows (name TEXT NOT NULL)")
	require.NoError(t, err)
	return &liteHost{t, db, jobs, onejob.NewOperator(jobs)}
}

// litePool opens a file with pragmas, in the driver's own way, and one
// connection.
func litePool(t *testing.T, path string, pragmas ...string) *sql.DB {
	t.Helper()
	return liteDriverPool(t, "sqlite", path, pragmas...)
}

func liteDriverPool(t *testing.T, driver, path string, pragmas ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, liteDSN(path, pragmas...))
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func liteDSN(path string, pragmas ...string) string {
	dsn := "file:" + filepath.ToSlash(path) + "?_txlock=deferred"
	for _, p := range pragmas {
		dsn += "&_pragma=" + p
	}
	return dsn
}

func (h *liteHost) begin() *sql.Tx {
	h.Helper()
	tx, err := h.db.BeginTx(h.Context(), nil)
	require.NoError(h, err)
	h.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func (h *liteHost) exec(tx *sql.Tx, statement string) {
	h.Helper()
	_, err := tx.ExecContext(h.Context(), statement)
	require.NoError(h, err)
}

func (h *liteHost) rows() (n int) {
	h.Helper()
	require.NoError(h, h.db.QueryRow("SELECT count(*) FROM host_rows").Scan(&n))
	return n
}

func (h *liteHost) start(key string) onejob.Attempt {
	h.Helper()
	_, a, err := h.jobs.Start(h.Context(), liteIntent(key), liteTry)
	require.NoError(h, err)
	return a
}

func (h *liteHost) status(key string) onejob.Status {
	h.Helper()
	job, err := h.jobs.GetByKey(h.Context(), "owner-1", key)
	require.NoError(h, err)
	return job.Status()
}

func liteIntent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge"}
}

var liteTry = onejob.Try{Provider: "primary", Timeout: time.Hour}

// liteCode is the extended result code in err, or 0.
func liteCode(err error) int {
	var c interface{ Code() int }
	if errors.As(err, &c) {
		return c.Code()
	}
	return 0
}

func TestHostsSQLiteTransactionCommitsAllOfIt(t *testing.T) {
	t.Parallel()
	h := newLiteHost(t)
	ctx := t.Context()
	a := h.start("k")
	for _, commit := range []bool{false, true} {
		tx := h.begin()
		_, created, err := h.jobs.CreateTx(ctx, tx, liteIntent("next"))
		require.NoError(t, err)
		require.True(t, created)
		_, err = h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
		require.NoError(t, err)
		h.exec(tx, "INSERT INTO host_rows VALUES ('k')")
		require.Equal(t, onejob.StatusRunning, h.status("k"))
		want := 0
		if commit {
			want = 1
			require.NoError(t, tx.Commit())
			require.Equal(t, onejob.StatusCompleted, h.status("k"))
		} else {
			require.NoError(t, tx.Rollback())
			require.Equal(t, onejob.StatusRunning, h.status("k"))
		}
		_, err = h.jobs.GetByKey(ctx, "owner-1", "next")
		require.Equal(t, commit, err == nil)
		require.Equal(t, want, h.rows())
	}
}

func TestRefusalsLeaveTheHostsSQLiteTransactionUsable(t *testing.T) {
	t.Parallel()
	h := newLiteHost(t)
	ctx := t.Context()
	loser := h.start("k")
	job, err := h.op.DetachAttempt(ctx, loser.ID, onejob.Decision{By: "ada", Reason: "slow"})
	require.NoError(t, err)
	winner, err := h.jobs.BeginAttempt(ctx, job, liteTry)
	require.NoError(t, err)
	_, err = h.jobs.Complete(ctx, winner, []byte("the winner's"))
	require.NoError(t, err)

	tx := h.begin()
	other := liteIntent("k")
	other.Kind = "refund"
	_, _, err = h.jobs.CreateTx(ctx, tx, other)
	require.ErrorIs(t, err, onejob.ErrKeyConflict)
	h.exec(tx, "INSERT INTO host_rows VALUES ('a')")
	_, err = h.jobs.CompleteTx(ctx, tx, winner, []byte("another"))
	require.ErrorIs(t, err, onejob.ErrResultMismatch)
	_, err = h.jobs.CompleteTx(ctx, tx, loser, []byte("the loser's"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	h.exec(tx, "INSERT INTO host_rows VALUES ('b')")
	require.NoError(t, tx.Commit())
	require.Equal(t, 2, h.rows())
}

// SQLite refuses to let a transaction write on what it read before another one
// wrote: code 517, which no waiting heals.
func TestHostsSQLiteTransactionThatReadTooEarlyIsToRunAgain(t *testing.T) {
	t.Parallel()
	const busySnapshot = 517
	h := newLiteHost(t)
	ctx := t.Context()
	a := h.start("k")
	steps := map[string]func(tx *sql.Tx) error{
		"CreateTx": func(tx *sql.Tx) error {
			_, _, err := h.jobs.CreateTx(ctx, tx, liteIntent("next"))
			return err
		},
		"CompleteTx": func(tx *sql.Tx) error {
			_, err := h.jobs.CompleteTx(ctx, tx, a, []byte("result"))
			return err
		},
	}
	for name, step := range steps {
		tx := h.begin()
		h.exec(tx, "SELECT count(*) FROM onejob_jobs")
		h.start("other-" + name)
		err := step(tx)
		require.ErrorIs(t, err, onejob.ErrRetryTx, name)
		require.Equal(t, busySnapshot, liteCode(err), name)
		require.NoError(t, tx.Rollback())
		tx = h.begin()
		require.NoError(t, step(tx), name)
		require.NoError(t, tx.Commit())
	}
	require.Equal(t, onejob.StatusCompleted, h.status("k"))
	require.Equal(t, onejob.StatusPending, h.status("next"))
}

// A host that swallows the error with which SQLite rolled its transaction back
// goes on outside of any: each statement would then commit by itself.
func TestHostsSQLiteTransactionThatIsGoneIsToRunAgain(t *testing.T) {
	t.Parallel()
	const endless = `INSERT INTO host_rows
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	for name, lose := range map[string]func(h *liteHost, tx *sql.Tx) error{
		"the disk was full": func(h *liteHost, tx *sql.Tx) error {
			h.exec(tx, "PRAGMA max_page_count = 1")
			_, err := tx.ExecContext(h.Context(), "INSERT INTO host_rows VALUES (zeroblob(10000000))")
			return err
		},
		"a statement was interrupted": func(h *liteHost, tx *sql.Tx) error {
			ctx, cancel := context.WithTimeout(h.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := tx.ExecContext(ctx, endless)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newLiteHost(t)
			h.T = t
			a := h.start("k")
			tx := h.begin()
			h.exec(tx, "INSERT INTO host_rows VALUES ('k')")
			_, _, err := h.jobs.CreateTx(t.Context(), tx, liteIntent("before"))
			require.NoError(t, err)
			require.Error(t, lose(h, tx))

			_, _, err = h.jobs.CreateTx(t.Context(), tx, liteIntent("next"))
			require.ErrorIs(t, err, onejob.ErrRetryTx)
			_, err = h.jobs.CompleteTx(t.Context(), tx, a, []byte("result"))
			require.ErrorIs(t, err, onejob.ErrRetryTx)
			require.Error(t, tx.Commit())

			require.Equal(t, onejob.StatusRunning, h.status("k"))
			for _, key := range []string{"before", "next"} {
				_, err = h.jobs.GetByKey(t.Context(), "owner-1", key)
				require.ErrorIs(t, err, onejob.ErrNotFound)
			}
			require.Zero(t, h.rows())
		})
	}
}

func TestTxOnSQLiteIsImmediate(t *testing.T) {
	t.Parallel()
	const busy = 5
	path := dbtest.SQLitePath(t)
	second := litePool(t, path, "busy_timeout(0)")
	begin := func() error {
		conn, err := second.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		if _, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		_, err = conn.ExecContext(t.Context(), "ROLLBACK")
		return err
	}
	ran := 0
	jobs := onejob.New(dbtest.OpenSQLite(t, path), &onejob.Options{
		OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
			ran++
			require.Equal(t, busy, liteCode(begin()))
			return nil
		},
	})
	require.NoError(t, begin())
	require.NoError(t, jobs.Tx(t.Context(), func(context.Context, *sql.Tx) error {
		ran++
		require.Equal(t, busy, liteCode(begin()), "another process could write before the first statement")
		return nil
	}))
	require.NoError(t, begin())
	_, a, err := jobs.Start(t.Context(), liteIntent("k"), liteTry)
	require.NoError(t, err)
	_, err = jobs.Complete(t.Context(), a, nil)
	require.NoError(t, err)
	require.Equal(t, 2, ran)
}
