package onejob_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// liteGood are the pragmas that a writer must have.
var liteGood = []string{"busy_timeout(5000)", "journal_mode(WAL)", "foreign_keys(1)", "synchronous(FULL)"}

func TestNewSQLiteStoreTakesTheHostsPools(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	writer, readers := litePool(t, path, liteGood...), litePool(t, path, "busy_timeout(5000)")
	store, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Readers: readers})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	_, _, err = jobs.Create(t.Context(), liteIntent("k"))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, writer.Ping(), "the host's pool was closed")
	require.NoError(t, readers.Ping(), "the host's pool was closed")
	_, err = jobs.GetByKey(t.Context(), "owner-1", "k")
	require.NoError(t, err)
	dbtest.Check(t, writer, "onejob_")
}

func TestNewSQLiteStoreRefuses(t *testing.T) {
	t.Parallel()
	writer := litePool(t, filepath.Join(t.TempDir(), "host.db"), liteGood...)
	many := litePool(t, filepath.Join(t.TempDir(), "host.db"), liteGood...)
	many.SetMaxOpenConns(2)
	unlimited := litePool(t, filepath.Join(t.TempDir(), "host.db"), liteGood...)
	unlimited.SetMaxOpenConns(0)
	for _, c := range []struct {
		writer *sql.DB
		prefix string
		field  string
	}{
		{nil, "", "writer"}, {many, "", "writer"}, {unlimited, "", "writer"},
		{writer, "x; DROP TABLE y", "SQLiteOptions.Prefix"}, {writer, "Jobs_", "SQLiteOptions.Prefix"},
		{writer, "1_", "SQLiteOptions.Prefix"}, {writer, "jobs_\n", "SQLiteOptions.Prefix"},
		{writer, strings.Repeat("x", 32), "SQLiteOptions.Prefix"},
	} {
		_, err := onejob.NewSQLiteStore(c.writer, &onejob.SQLiteOptions{Prefix: c.prefix})
		var e *onejob.Error
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, onejob.ErrInvalid)
		require.Equal(t, c.field, e.Field)
		require.Equal(t, "NewSQLiteStore", e.Op)
	}
	_, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Prefix: strings.Repeat("x", 31)})
	require.NoError(t, err)
}

func TestSQLiteWriterWithoutItsPragmasIsRefused(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLitePath(t)
	other := dbtest.SQLitePath(t)
	plain := filepath.Join(t.TempDir(), "plain.db")
	for word, pools := range map[string][2]*sql.DB{
		"foreign_keys": {litePool(t, path, "busy_timeout(5000)", "journal_mode(WAL)")},
		"journal_mode": {litePool(t, plain, "busy_timeout(5000)", "foreign_keys(1)")},
		"busy_timeout": {litePool(t, path, "journal_mode(WAL)", "foreign_keys(1)", "busy_timeout(0)")},
		"another file": {litePool(t, path, liteGood...), litePool(t, other)},
		"in memory":    {litePool(t, ":memory:", liteGood...), litePool(t, ":memory:")},
	} {
		store, err := onejob.NewSQLiteStore(pools[0], &onejob.SQLiteOptions{Readers: pools[1]})
		require.NoError(t, err)
		for range 2 {
			err = store.Migrate(t.Context())
			require.ErrorIs(t, err, onejob.ErrUnsupported, word)
			require.ErrorContains(t, err, word)
			_, _, err = onejob.New(store, nil).Create(t.Context(), liteIntent("k"))
			require.ErrorIs(t, err, onejob.ErrUnsupported, word)
			_, err = onejob.New(store, nil).GetByKey(t.Context(), "owner-1", "k")
			require.ErrorIs(t, err, onejob.ErrUnsupported, word)
		}
	}
}

// A pool may replace its connection at any time, and pragmas are set on
// connections.
func TestSQLiteWriterThatIsReplacedIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLitePath(t)
	c := &changingConnector{drv: litePool(t, path).Driver(), dsn: liteDSN(path, liteGood...)}
	writer := sql.OpenDB(c)
	defer writer.Close()
	writer.SetMaxOpenConns(1)
	store, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Readers: litePool(t, path)})
	require.NoError(t, err)
	jobs := onejob.New(store, nil)
	_, _, err = jobs.Create(t.Context(), liteIntent("k"))
	require.NoError(t, err)
	opened := c.opened.Load()

	c.dsn = liteDSN(path, "busy_timeout(5000)")
	writer.SetConnMaxLifetime(time.Nanosecond)
	_, _, err = jobs.Create(t.Context(), liteIntent("next"))
	require.Greater(t, c.opened.Load(), opened)
	require.ErrorIs(t, err, onejob.ErrUnsupported)
	require.ErrorContains(t, err, "foreign_keys")
	_, err = jobs.GetByKey(t.Context(), "owner-1", "next")
	require.ErrorIs(t, err, onejob.ErrNotFound)

	c.dsn = liteDSN(path, liteGood...)
	for i := range 3 {
		_, _, err = jobs.Create(t.Context(), liteIntent(fmt.Sprint("good", i)))
		require.NoError(t, err)
	}
}

// changingConnector opens connections that are not all alike.
type changingConnector struct {
	drv    driver.Driver
	dsn    string
	opened atomic.Int64
}

func (c *changingConnector) Connect(context.Context) (driver.Conn, error) {
	c.opened.Add(1)
	return c.drv.Open(c.dsn)
}

func (c *changingConnector) Driver() driver.Driver { return c.drv }

func TestOpenSQLiteTakesAnyPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a b.db", "50%.db", "%20.db", "what?.db", "x?mode=memory", "a#b.db", "a&b=c.db", "grün.db", "a'b\"c;.db", ":memory: not.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			first := dbtest.OpenSQLite(t, path)
			require.NoError(t, first.Migrate(t.Context()))
			job, _, err := onejob.New(first, nil).Create(t.Context(), liteIntent("k"))
			require.NoError(t, err)
			second := dbtest.OpenSQLite(t, path)
			found, created, err := onejob.New(second, nil).Create(t.Context(), liteIntent("k"))
			require.NoError(t, err)
			require.False(t, created)
			require.Equal(t, job.ID, found.ID)
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, f := range files {
				require.True(t, strings.HasPrefix(f.Name(), name), f.Name())
			}
			require.FileExists(t, path)
		})
	}
}

func TestOpenSQLiteRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	for field, open := range map[string]func() (*onejob.SQLiteStore, error){
		"path": func() (*onejob.SQLiteStore, error) { return onejob.OpenSQLite(t.Context(), "", nil) },
		"SQLiteOptions.Readers": func() (*onejob.SQLiteStore, error) {
			return onejob.OpenSQLite(t.Context(), path, &onejob.SQLiteOptions{Readers: litePool(t, path)})
		},
		"SQLiteOptions.Prefix": func() (*onejob.SQLiteStore, error) {
			return onejob.OpenSQLite(t.Context(), path, &onejob.SQLiteOptions{Prefix: "No"})
		},
	} {
		_, err := open()
		require.ErrorIs(t, err, onejob.ErrInvalid)
		var e *onejob.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
		require.Equal(t, "OpenSQLite", e.Op)
	}
	_, err := onejob.OpenSQLite(t.Context(), path, &onejob.SQLiteOptions{Driver: "sqlite9"})
	require.ErrorIs(t, err, onejob.ErrUnsupported)
	require.ErrorContains(t, err, `import _ "modernc.org/sqlite"`)
	_, err = onejob.OpenSQLite(t.Context(), filepath.Join(path, "no", "such", "directory.db"), nil)
	require.ErrorIs(t, err, onejob.ErrInvalid)
	require.NoFileExists(t, path)
}

func TestSQLiteStoreCloses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	store, err := onejob.OpenSQLite(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	_, _, err = jobs.Create(t.Context(), liteIntent("k"))
	require.NoError(t, err)
	require.FileExists(t, path+"-wal")
	require.NoError(t, store.Close())
	require.NoFileExists(t, path+"-wal", "a connection is still open")
	_, _, err = jobs.Create(t.Context(), liteIntent("next"))
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.NoError(t, store.Close())
}

func TestSQLiteInMemoryLivesAsLongAsTheStore(t *testing.T) {
	t.Parallel()
	store := dbtest.OpenSQLite(t, ":memory:")
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	_, a, err := jobs.Start(t.Context(), liteIntent("k"), liteTry)
	require.NoError(t, err)
	require.NoError(t, jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := jobs.CompleteTx(ctx, tx, a, []byte("result"))
		require.NoError(t, err)
		job, err := jobs.GetByKey(ctx, "owner-1", "k")
		require.Equal(t, []byte("result"), job.Result)
		return err
	}))
	other := dbtest.OpenSQLite(t, ":memory:")
	require.NoError(t, other.Migrate(t.Context()))
	_, err = onejob.New(other, nil).GetByKey(t.Context(), "owner-1", "k")
	require.ErrorIs(t, err, onejob.ErrNotFound)
}

// WAL cannot be turned on while another process writes to a file that has none
// yet, and SQLite does not wait for that by itself.
func TestOpenSQLiteWaitsForWhoHasTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	conn, err := litePool(t, path).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, statement := range []string{"CREATE TABLE host_rows (name TEXT)", "BEGIN IMMEDIATE"} {
		_, err = conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	over := time.AfterFunc(200*time.Millisecond, func() { _, _ = conn.ExecContext(context.Background(), "ROLLBACK") })
	defer over.Stop()
	store, err := onejob.OpenSQLite(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}
