package onejob_test

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A transaction that reads first and locks later fails when another process
// wrote in between, which no waiting heals. So the lock comes before all else:
// whoever reads the clock, which is the first thing that a write does, holds it.
func TestEveryWriteOnSQLiteHoldsTheLockBeforeItReads(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLitePath(t)
	other := litePool(t, path, "busy_timeout(0)")
	var looking atomic.Bool
	var asked, free atomic.Int64
	now := time.Now()
	jobs := onejob.New(dbtest.OpenSQLite(t, path), &onejob.Options{Now: func() time.Time {
		if looking.Load() {
			asked.Add(1)
			if _, err := other.Exec("BEGIN IMMEDIATE"); err == nil {
				free.Add(1)
				_, _ = other.Exec("ROLLBACK")
			}
		}
		return now
	}})
	op := onejob.NewOperator(jobs)
	word := onejob.Decision{By: "ada", Reason: "asked"}
	held := func(name string, step func(ctx context.Context) error) {
		t.Helper()
		asked.Store(0)
		looking.Store(true)
		err := step(t.Context())
		looking.Store(false)
		require.NoError(t, err, name)
		require.Positive(t, asked.Load(), name)
		require.Zero(t, free.Load(), "%s: another process could write in between", name)
	}
	job, _, err := jobs.Create(t.Context(), liteIntent("k"))
	require.NoError(t, err)
	var a, b onejob.Attempt
	held("BeginAttempt", func(ctx context.Context) (err error) {
		a, err = jobs.BeginAttempt(ctx, job, liteTry)
		return err
	})
	held("MarkUnknown", func(ctx context.Context) error { return first(jobs.MarkUnknown(ctx, a, nil)) })
	held("DetachAttempt", func(ctx context.Context) error { return first(op.DetachAttempt(ctx, a.ID, word)) })
	held("BeginAttempt", func(ctx context.Context) (err error) {
		b, err = jobs.BeginAttempt(ctx, job, liteTry)
		return err
	})
	held("Extend", func(ctx context.Context) error { return first(jobs.Extend(ctx, b, 2*time.Hour)) })
	now = now.Add(3 * time.Hour)
	held("Sweep", func(ctx context.Context) error { return first(op.Sweep(ctx, 10)) })
	held("Complete", func(ctx context.Context) error { return first(jobs.Complete(ctx, b, nil)) })
	now = now.Add(time.Hour)
	held("Purge", func(ctx context.Context) error {
		return first(op.Purge(ctx, onejob.Retention{Payloads: time.Minute, Tombstones: time.Minute}, 10))
	})
}

// brokenWin makes the last statement of a Complete fail, and returns what mends
// it.
func brokenWin(t *testing.T, db *sql.DB) (mend func()) {
	t.Helper()
	_, err := db.Exec(`CREATE TRIGGER broken BEFORE UPDATE ON onejob_attempts
		WHEN NEW.state = 'succeeded' BEGIN SELECT RAISE(FAIL, 'broken'); END`)
	require.NoError(t, err)
	return func() {
		_, err := db.Exec("DROP TRIGGER broken")
		require.NoError(t, err)
	}
}

// A job that is completed by an attempt that has not succeeded would be half a
// step.
func TestAStepOnSQLiteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	h := newLiteHost(t)
	a := h.start("k")
	mend := brokenWin(t, h.db)
	_, err := h.jobs.Complete(t.Context(), a, []byte("result"))
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.Equal(t, onejob.StatusRunning, h.status("k"))
	mend()
	_, err = h.jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err)
}

func TestAStepInAHostsSQLiteTransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	h := newLiteHost(t)
	a := h.start("k")
	mend := brokenWin(t, h.db)
	tx := h.begin()
	h.exec(tx, "INSERT INTO host_rows VALUES ('k')")
	_, err := h.jobs.CompleteTx(t.Context(), tx, a, []byte("result"))
	require.Error(t, err)
	require.NoError(t, tx.Commit(), "a host may swallow the error")
	require.Equal(t, 1, h.rows())
	require.Equal(t, onejob.StatusRunning, h.status("k"))
	mend()
	_, err = h.jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err)
}

// A statement that is interrupted makes SQLite roll back its transaction, and
// what follows would be committed by itself. So a caller can give up while it
// waits for the writer, and not after that: here it does so at the clock, which
// is read behind the lock.
func TestAWriteOnSQLiteIsNotInterrupted(t *testing.T) {
	t.Parallel()
	store, err := onejob.OpenSQLite(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	require.NoError(t, store.Migrate(t.Context()))
	leave := func() {}
	jobs := onejob.New(store, &onejob.Options{Now: func() time.Time {
		leave()
		return time.Now()
	}})
	job, _, err := jobs.Create(t.Context(), liteIntent("k"))
	require.NoError(t, err)
	var ctx context.Context
	leaving := func() context.Context {
		ctx, leave = context.WithCancel(t.Context())
		return ctx
	}
	a, err := jobs.BeginAttempt(leaving(), job, liteTry)
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	_, err = jobs.Extend(leaving(), a, 2*time.Hour)
	require.NoError(t, err)
	done, err := jobs.Complete(leaving(), a, []byte("result"))
	require.NoError(t, err)
	leave = func() {}
	read, err := jobs.Get(t.Context(), job.Owner, job.ID)
	require.NoError(t, err)
	require.Equal(t, done, read)
}

// A swap whose transaction ends before the attempt is written has not lost.
func TestACompleteTxWhoseSQLiteTransactionEnds(t *testing.T) {
	t.Parallel()
	h := newBatchHost(t, false, "faulty", nil)
	a := h.start("a")
	tx, err := h.writer.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	faults.Store(h.path, func(s faultyStatement) error {
		if strings.Contains(s.text, "SET state = 'succeeded'") {
			s.rollback()
		}
		return s.own()
	})
	_, err = h.jobs.CompleteTx(t.Context(), tx, a, []byte("result"))
	faults.Delete(h.path)
	require.ErrorIs(t, err, onejob.ErrRetryTx)
	_ = tx.Rollback()
	require.Equal(t, onejob.StatusRunning, h.status("a"))
	_, err = h.jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err)
}
