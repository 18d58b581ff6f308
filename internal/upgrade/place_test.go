package upgrade_test

import (
	"context"
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// migrating is what both stores can do.
type migrating interface {
	onejob.Store
	Migrate(ctx context.Context) error
	MigrateTo(ctx context.Context, version int) error
	Migrations() fs.FS
}

// place is a database of the test's own, without tables.
type place struct {
	kind    string
	address string
	tables  string // what stands before a table's name
	db      *sql.DB
}

// onBoth runs the test on an empty database of each kind. Whatever it leaves in
// the tables must keep the invariants.
func onBoth(t *testing.T, run func(t *testing.T, p place)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.EmptyPostgresDSN(t)
		db := dbtest.OpenPostgres(t, dsn)
		_, err := db.Exec("DROP SCHEMA onejob CASCADE") // the copy of the template has one
		require.NoError(t, err)
		run(t, place{"postgres", dsn, "onejob.", db})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "onejob.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)")
		require.NoError(t, err)
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		run(t, place{"sqlite", path, "onejob_", db})
	})
}

// store opens the present library's store.
func (p place) store(t *testing.T) migrating {
	t.Helper()
	return p.named(t, "")
}

// named is store with another schema or prefix.
func (p place) named(t *testing.T, names string) migrating {
	t.Helper()
	if p.kind == "sqlite" {
		store, err := onejob.OpenSQLite(t.Context(), p.address, &onejob.SQLiteOptions{Prefix: names})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, p.address), &onejob.PostgresOptions{Schema: names})
	require.NoError(t, err)
	return store
}

func (p place) check(t *testing.T) {
	t.Helper()
	dbtest.Check(t, p.db, p.tables)
}

func (p place) version(t *testing.T) (version int) {
	t.Helper()
	require.NoError(t, p.db.QueryRow("SELECT max(version) FROM "+p.tables+"migrations").Scan(&version))
	return version
}

func (p place) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := p.db.Exec(strings.ReplaceAll(statement, "{t}", p.tables))
	require.NoError(t, err, statement)
}

// newest is the version that the present library needs.
func newest(t *testing.T, s migrating) int {
	t.Helper()
	files, err := fs.Glob(s.Migrations(), "migrate/*.up.sql")
	require.NoError(t, err)
	return len(files)
}
