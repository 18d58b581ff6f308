package onejob_test

import (
	"database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// The connection that a store keeps may break, at each of its statements: the
// next call takes another, and nothing of the transaction is left.
func TestSQLiteTakesAnotherConnectionWhenOneBreaks(t *testing.T) {
	t.Parallel()
	for at := range 6 {
		path := filepath.Join(t.TempDir(), "breaking.db")
		store, err := onejob.OpenSQLite(t.Context(), path, &onejob.SQLiteOptions{Driver: "faulty"})
		require.NoError(t, err)
		defer store.Close()
		require.NoError(t, store.Migrate(t.Context()))
		jobs := onejob.New(store, nil)
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
		require.Equal(t, at < 5, sent > at, "statement %d", at)
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
}
