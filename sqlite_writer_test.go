package onejob_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// The connection that a store keeps may break, at each of its statements: the
// next call takes another, and nothing of the transaction is left.
func TestSQLiteTakesAnotherConnectionWhenOneBreaks(t *testing.T) {
	t.Parallel()
	hooked := &onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
		_, err := tx.ExecContext(ctx, "SELECT 1")
		return err
	}}
	for name, opts := range map[string]*onejob.Options{"plain": nil, "OnComplete": hooked} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range 6 {
				breakAt(t, at, opts)
			}
		})
	}
}

func breakAt(t *testing.T, at int, opts *onejob.Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "breaking.db")
	store, err := onejob.OpenSQLite(t.Context(), path, &onejob.SQLiteOptions{Driver: "faulty"})
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, opts)
	_, a, err := jobs.Start(t.Context(), liteIntent("a"), liteTry)
	require.NoError(t, err)
	sent := 0
	faults.Store(path, func(s faultyStatement) error {
		if sent++; sent > at {
			return driver.ErrBadConn
		}
		return s.own()
	})
	_, err = jobs.Complete(t.Context(), a, []byte("result"))
	faults.Delete(path)
	require.True(t, at >= 5 || sent > at, "statement %d", at)
	if err != nil {
		require.ErrorIs(t, err, onejob.ErrUnavailable)
	}
	job, err := jobs.GetByKey(t.Context(), "owner-1", "a")
	require.NoError(t, err)
	require.Contains(t, []onejob.Status{onejob.StatusRunning, onejob.StatusCompleted}, job.Status())
	_, err = jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err, "after statement %d", at)
	_, _, err = jobs.Create(t.Context(), liteIntent("b"))
	require.NoError(t, err, "after statement %d", at)
}

// Readers that the host has in hand hold up who asks them, and nobody else.
func TestBusyReadersDoNotHoldTheWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "busy.db")
	writer, readers := litePool(t, path, liteGood...), litePool(t, path, "busy_timeout(5000)")
	store, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Readers: readers})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	_, a, err := jobs.Start(t.Context(), liteIntent("a"), liteTry)
	require.NoError(t, err)
	rows, err := readers.QueryContext(t.Context(), "SELECT key FROM onejob_jobs")
	require.NoError(t, err)
	require.True(t, rows.Next())
	created := make(chan error, 1)
	go func() {
		_, _, err := jobs.Create(t.Context(), liteIntent("b"))
		created <- err
	}()
	require.Eventually(t, func() bool { return readers.Stats().WaitCount > 0 }, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = jobs.Complete(ctx, a, nil)
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	require.NoError(t, <-created)
}
