package dbtest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver the tests use

	"github.com/onejob-go/onejob"
)

// SQLite returns a migrated store on a file of the test's own. When the test
// ends its rows are checked.
func SQLite(t testing.TB) *onejob.SQLiteStore {
	t.Helper()
	return OpenSQLite(t, SQLitePath(t))
}

// SQLitePath returns the path of a migrated file of the test's own, whose rows
// are checked when the test ends.
func SQLitePath(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "onejob.db")
	t.Cleanup(func() {
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		Check(t, db, "onejob_")
	})
	store := OpenSQLite(t, path)
	require.NoError(t, store.Migrate(context.Background()))
	return path
}

// OpenSQLite opens a store on a file.
func OpenSQLite(t testing.TB, path string) *onejob.SQLiteStore {
	t.Helper()
	store, err := onejob.OpenSQLite(context.Background(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
