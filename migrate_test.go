package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

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

// emptyDB is a database without any table of ours.
type emptyDB struct {
	address string
	db      *sql.DB
	// open returns a store on pools of its own. names is the schema or the
	// prefix; "" is the default.
	open func(t *testing.T, address, names string) migrating
	// table is a table's name under the default names.
	table func(name string) string
}

func openPostgresAt(t *testing.T, address, names string) migrating {
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, address), &onejob.PostgresOptions{Schema: names})
	require.NoError(t, err)
	return store
}

func openSQLiteAt(t *testing.T, address, names string) migrating {
	store, err := onejob.OpenSQLite(t.Context(), address, &onejob.SQLiteOptions{Prefix: names})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// onEmptyDatabases runs the test on an empty database of each kind.
func onEmptyDatabases(t *testing.T, run func(t *testing.T, e emptyDB)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.EmptyPostgresDSN(t)
		db := dbtest.OpenPostgres(t, dsn)
		_, err := db.Exec("DROP SCHEMA onejob CASCADE") // the copy of the template has one
		require.NoError(t, err)
		run(t, emptyDB{dsn, db, openPostgresAt, func(name string) string { return "onejob." + name }})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "onejob.db")
		db := litePool(t, path, "busy_timeout(5000)", "foreign_keys(1)")
		run(t, emptyDB{path, db, openSQLiteAt, func(name string) string { return "onejob_" + name }})
	})
}

func (e emptyDB) works(t *testing.T, store onejob.Store, key string) {
	t.Helper()
	jobs := onejob.New(store, nil)
	_, a, err := jobs.Start(t.Context(), liteIntent(key), liteTry)
	require.NoError(t, err)
	job, err := jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err)
	require.Equal(t, onejob.StatusCompleted, job.Status())
	taken, err := onejob.NewOperator(jobs).TakeTurn(t.Context(), key, "a", time.Hour)
	require.NoError(t, err)
	require.True(t, taken)
	_, err = onejob.NewOperator(jobs).SaveQualification(t.Context(), onejob.Qualification{
		Provider: "primary", Requirement: onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}, Runs: 1, Passes: 1,
	}, time.Hour)
	require.NoError(t, err)
}

// isOld requires that the store refuses to work, and says what to do.
func (e emptyDB) isOld(t *testing.T, store onejob.Store) {
	t.Helper()
	jobs := onejob.New(store, nil)
	_, _, err := jobs.Create(t.Context(), liteIntent("k"))
	require.ErrorIs(t, err, onejob.ErrUnsupported)
	require.ErrorContains(t, err, "run Migrate")
	_, err = jobs.GetByKey(t.Context(), "owner-1", "k")
	require.ErrorIs(t, err, onejob.ErrUnsupported)
	_, err = onejob.NewOperator(jobs).Sweep(t.Context(), 1)
	require.ErrorIs(t, err, onejob.ErrUnsupported)
}

func (e emptyDB) version(t *testing.T) (version int) {
	t.Helper()
	require.NoError(t, e.db.QueryRow("SELECT max(version) FROM "+e.table("migrations")).Scan(&version))
	return version
}

func TestMigrateUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		store := e.open(t, e.address, "")
		e.isOld(t, store)
		require.NoError(t, store.Migrate(t.Context()))
		require.NoError(t, store.Migrate(t.Context()))
		newest := e.version(t)
		e.works(t, store, "k")

		require.NoError(t, store.MigrateTo(t.Context(), 0))
		e.isOld(t, store)
		_, err := e.db.Exec("SELECT 1 FROM " + e.table("jobs"))
		require.Error(t, err)
		for _, version := range []int{-1, newest + 1} {
			require.ErrorIs(t, store.MigrateTo(t.Context(), version), onejob.ErrInvalid)
		}
		require.NoError(t, store.MigrateTo(t.Context(), newest))
		e.works(t, store, "k")
		require.Equal(t, newest, e.version(t))
	})
}

// A process that runs on an older schema would find out by and by, in the middle
// of its work: it is told at once.
func TestEachOlderSchemaIsRefusedAndKeepsItsRows(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		require.NoError(t, e.open(t, e.address, "").Migrate(t.Context()))
		newest := e.version(t)
		require.Equal(t, 3, newest, "this test knows what came when")
		for version := newest - 1; version > 0; version-- {
			key := fmt.Sprint("k", version)
			e.works(t, e.open(t, e.address, ""), key)
			require.NoError(t, e.open(t, e.address, "").MigrateTo(t.Context(), version))
			old := e.open(t, e.address, "")
			e.isOld(t, old)
			_, err := onejob.NewOperator(onejob.New(old, nil)).TakeTurn(t.Context(), "purge", "a", time.Hour)
			require.ErrorIs(t, err, onejob.ErrUnsupported)
			require.ErrorContains(t, err, fmt.Sprintf("at version %d and this program needs %d: run Migrate", version, newest))
			requireSymptom(t, examine(t, old), symptom{"schema version", fmt.Sprint(version), true})
			require.NoError(t, old.Migrate(t.Context()))
			job, err := onejob.New(old, nil).GetByKey(t.Context(), "owner-1", key)
			require.NoError(t, err)
			require.Equal(t, "result", string(job.Result))
		}
		e.works(t, e.open(t, e.address, ""), "after")
		dbtest.Check(t, e.db, e.table(""))
	})
}

func TestMigrateFromEightStoresAtOnce(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		stores := make([]migrating, 8)
		for i := range stores {
			stores[i] = e.open(t, e.address, "")
		}
		for round := range 5 {
			errs := make([]error, len(stores))
			gate := make(chan struct{})
			var wg sync.WaitGroup
			for i, store := range stores {
				wg.Go(func() {
					<-gate
					errs[i] = store.Migrate(t.Context())
				})
			}
			close(gate)
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			for i, store := range stores {
				e.works(t, store, fmt.Sprint(round, "-", i))
			}
			dbtest.Check(t, e.db, e.table(""))
			require.NoError(t, stores[0].MigrateTo(t.Context(), 0))
			if _, ok := stores[0].(*onejob.PostgresStore); ok {
				_, err := e.db.Exec("DROP SCHEMA onejob")
				require.NoError(t, err)
			}
		}
	})
}

func TestMigrateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		store := e.open(t, e.address, "")
		if _, ok := store.(*onejob.PostgresStore); ok {
			_, err := e.db.Exec("CREATE SCHEMA onejob")
			require.NoError(t, err)
		}
		_, err := e.db.Exec("CREATE TABLE " + e.table("attempts") + " (mine integer)")
		require.NoError(t, err)
		require.ErrorIs(t, store.Migrate(t.Context()), onejob.ErrUnavailable)
		for _, name := range []string{"migrations", "jobs"} {
			_, err = e.db.Exec("SELECT 1 FROM " + e.table(name))
			require.Error(t, err, name)
		}
		e.isOld(t, store)
		_, err = e.db.Exec("DROP TABLE " + e.table("attempts"))
		require.NoError(t, err)
		require.NoError(t, store.Migrate(t.Context()))
		e.works(t, store, "k")
	})
}

func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		require.NoError(t, e.open(t, e.address, "").Migrate(t.Context()))
		_, err := e.db.Exec("INSERT INTO " + e.table("migrations") + " (version) VALUES (99)")
		require.NoError(t, err)
		store := e.open(t, e.address, "")
		e.works(t, store, "before")
		require.NoError(t, store.Migrate(t.Context()))
		require.Equal(t, 99, e.version(t))
		e.works(t, store, "after")
	})
}

func TestTwoSetsOfTablesLiveSideBySide(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		address := e.address
		if u, err := url.Parse(address); err == nil && u.Scheme == "postgres" {
			// Names are always written out, so the path does not matter.
			q := u.Query()
			q.Set("search_path", "nowhere")
			u.RawQuery = q.Encode()
			address = u.String()
		}
		ids := map[onejob.JobID]bool{}
		for _, names := range []string{"", "other", "_x9_", strings.Repeat("n", 31)} {
			store := e.open(t, address, names)
			e.isOld(t, store)
			require.NoError(t, store.Migrate(t.Context()))
			e.works(t, store, "k")
			job, err := onejob.New(store, nil).GetByKey(t.Context(), "owner-1", "k")
			require.NoError(t, err)
			ids[job.ID] = true
		}
		require.Len(t, ids, 4)
		require.NoError(t, e.open(t, address, "other").MigrateTo(t.Context(), 0))
		_, err := onejob.New(e.open(t, address, ""), nil).GetByKey(t.Context(), "owner-1", "k")
		require.NoError(t, err)
	})
}

func TestMigrationsRunByAnotherToolAreKnown(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		store := e.open(t, e.address, "")
		files := store.Migrations()
		up, err := fs.Glob(files, "migrate/*.up.sql")
		require.NoError(t, err)
		down, err := fs.Glob(files, "migrate/*.down.sql")
		require.NoError(t, err)
		require.Len(t, down, len(up))
		slices.Reverse(down)
		run := func(names []string) {
			for _, name := range names {
				text, err := fs.ReadFile(files, name)
				require.NoError(t, err)
				tx, err := e.db.Begin() // as the tools do
				require.NoError(t, err)
				_, err = tx.Exec(string(text))
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
			}
		}
		for range 2 {
			run(up)
			e.works(t, store, "before")
			require.NoError(t, store.Migrate(t.Context()))
			require.Equal(t, len(up), e.version(t))
			e.works(t, store, "after")
			run(down)
			store = e.open(t, e.address, "")
			e.isOld(t, store)
		}
		require.NoError(t, store.Migrate(t.Context()))
		e.works(t, store, "k")
	})
}

func TestMigrationsAreFilesForTheCommonTools(t *testing.T) {
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		files := e.open(t, e.address, "mine_").Migrations()
		require.NoError(t, fstest.TestFS(files, "goose/0001_jobs.sql",
			"migrate/0001_jobs.up.sql", "migrate/0001_jobs.down.sql"))
		require.NoError(t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := fs.ReadFile(files, path)
			text := string(raw)
			require.NotContains(t, text, "{", path)
			require.Contains(t, text, "mine_", path)
			goose := strings.HasPrefix(path, "goose/")
			require.Equal(t, goose, strings.HasPrefix(text, "-- +goose Up\n"), path)
			require.Equal(t, goose, strings.Contains(text, "\n-- +goose Down\n"), path)
			return err
		}))
	})
}
