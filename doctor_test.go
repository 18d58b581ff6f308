package onejob_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// examine returns what the doctor finds, by setting. Each finding must say what
// to do.
func examine(t *testing.T, store onejob.Store) map[string]onejob.Finding {
	t.Helper()
	list, err := onejob.NewOperator(onejob.New(store, nil)).Doctor(t.Context())
	require.NoError(t, err)
	found := map[string]onejob.Finding{}
	for _, f := range list {
		require.NotContains(t, found, f.Setting, "found twice")
		require.NotEmpty(t, f.Advice, f.Setting)
		found[f.Setting] = f
	}
	return found
}

// symptom is what must be found of one bad setting.
type symptom struct {
	setting, value string
	breaks         bool
}

func requireSymptom(t *testing.T, found map[string]onejob.Finding, s symptom) {
	t.Helper()
	f, ok := found[s.setting]
	require.True(t, ok, "%s was not found, but %v", s.setting, found)
	require.Equal(t, s.breaks, f.Breaks, s.setting)
	if s.value != "" {
		require.Equal(t, s.value, f.Value, s.setting)
	}
}

// doctorPool opens a pool as it should be, with what the server was told for
// this database since.
func doctorPool(t *testing.T, dsn string, commands ...string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	admin := dbtest.OpenPostgres(t, dsn)
	for _, c := range commands {
		_, err := admin.Exec("ALTER DATABASE " + u.Path[1:] + " SET " + c)
		require.NoError(t, err)
	}
	require.NoError(t, admin.Close()) // a connection keeps the settings it began with
	return dbtest.OpenPostgres(t, dsn)
}

// withSetting returns the address with a setting for each of its sessions.
func withSetting(t *testing.T, dsn, name, value string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func postgresOn(t *testing.T, db *sql.DB, opts *onejob.PostgresOptions) *onejob.PostgresStore {
	t.Helper()
	store, err := onejob.NewPostgresStore(db, opts)
	require.NoError(t, err)
	return store
}

func TestDoctorFindsEachBadSetting(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name    string
			command string
			symptom symptom
		}{
			{"commits that are not flushed", "synchronous_commit = off", symptom{"synchronous_commit", "off", true}},
			{"repeatable read", "default_transaction_isolation = 'repeatable read'",
				symptom{"default_transaction_isolation", "repeatable read", false}},
			{"serializable", "default_transaction_isolation = 'serializable'",
				symptom{"default_transaction_isolation", "serializable", false}},
			{"read-only", "default_transaction_read_only = on", symptom{"default_transaction_read_only", "on", true}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				dsn := dbtest.EmptyPostgresDSN(t)
				before := examine(t, postgresOn(t, dbtest.OpenPostgres(t, dsn), nil))
				require.NotContains(t, before, test.symptom.setting)
				after := examine(t, postgresOn(t, doctorPool(t, dsn, test.command), nil))
				requireSymptom(t, after, test.symptom)
				require.Len(t, after, len(before)+1, "one bad setting is one finding")
			})
		}
		t.Run("a pool that drops its connections", func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPostgres(t, dbtest.EmptyPostgresDSN(t))
			db.SetMaxIdleConns(2) // database/sql's default
			keepIdle(t, db)
			found := examine(t, postgresOn(t, db, nil))
			requireSymptom(t, found, symptom{setting: "MaxIdleConns"})
			require.NotContains(t, found, "MaxOpenConns")
		})
		t.Run("a pool without a limit", func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPostgres(t, dbtest.EmptyPostgresDSN(t))
			db.SetMaxOpenConns(0)
			found := examine(t, postgresOn(t, db, nil))
			requireSymptom(t, found, symptom{"MaxOpenConns", "unlimited", false})
			require.NotContains(t, found, "MaxIdleConns")
		})
		t.Run("a pool as database/sql makes it", func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("postgres", dbtest.EmptyPostgresDSN(t))
			require.NoError(t, err)
			defer db.Close()
			keepIdle(t, db)
			found := examine(t, postgresOn(t, db, nil))
			require.Contains(t, found, "MaxOpenConns")
			require.Contains(t, found, "MaxIdleConns")
		})
		t.Run("a small pool", func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPostgres(t, dbtest.EmptyPostgresDSN(t))
			db.SetMaxOpenConns(1) // the doctor must not wait for a second one
			found := examine(t, postgresOn(t, db, nil))
			require.NotContains(t, found, "MaxOpenConns")
			require.NotContains(t, found, "MaxIdleConns")
		})
		t.Run("no schema", func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPostgres(t, dbtest.EmptyPostgresDSN(t))
			store := postgresOn(t, db, &onejob.PostgresOptions{Schema: "elsewhere"})
			requireSymptom(t, examine(t, store), symptom{"schema version", "0", true})
			require.NoError(t, store.Migrate(t.Context()))
			require.NotContains(t, examine(t, store), "schema version")
			require.NoError(t, store.MigrateTo(t.Context(), 0))
			requireSymptom(t, examine(t, store), symptom{"schema version", "0", true})
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name    string
			pragma  string
			symptom symptom
		}{
			{"synchronous OFF", "synchronous(OFF)", symptom{"synchronous", "0", true}},
			{"synchronous NORMAL", "synchronous(NORMAL)", symptom{"synchronous", "1", true}},
			{"no busy timeout", "busy_timeout(0)", symptom{"busy_timeout", "0", false}},
			{"a short busy timeout", "busy_timeout(999)", symptom{"busy_timeout", "999", false}},
			{"foreign keys off", "foreign_keys(OFF)", symptom{"foreign_keys", "off", true}},
			{"no WAL", "journal_mode(DELETE)", symptom{"journal_mode", "delete", false}},
			{"no journal", "journal_mode(OFF)", symptom{"journal_mode", "off", true}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				// A new file: the journal cannot change where another store has
				// it open. So the tables are missing as well.
				found := examine(t, hostSQLite(t, filepath.Join(t.TempDir(), "new.db"), test.pragma))
				requireSymptom(t, found, test.symptom)
				delete(found, "schema version")
				require.Len(t, found, 1, "one bad setting is one finding")
			})
		}
		t.Run("no tables", func(t *testing.T) {
			t.Parallel()
			store := hostSQLite(t, filepath.Join(t.TempDir(), "new.db"))
			found := examine(t, store)
			requireSymptom(t, found, symptom{"schema version", "0", true})
			require.Len(t, found, 1)
		})
		t.Run("the file is gone", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "onejob.db")
			store := dbtest.OpenSQLite(t, path)
			require.NoError(t, store.Migrate(t.Context()))
			require.Empty(t, examine(t, store))
			require.NoError(t, os.Remove(path))
			requireSymptom(t, examine(t, store), symptom{"file", "gone", true})
		})
		t.Run("the file was replaced", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "onejob.db")
			store := dbtest.OpenSQLite(t, path)
			require.NoError(t, store.Migrate(t.Context()))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			// As a restored backup does: another file under the same name, and
			// the old one is still there, so that its number is not used again.
			require.NoError(t, os.Rename(path, path+".old"))
			require.NoError(t, os.WriteFile(path, text, 0o600))
			requireSymptom(t, examine(t, store), symptom{"file", "replaced", true})
		})
		t.Run("the file was replaced under a host's own pool", func(t *testing.T) {
			t.Parallel()
			path := dbtest.SQLitePath(t)
			store := hostSQLite(t, path)
			_, _, err := onejob.New(store, nil).Create(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"})
			require.NoError(t, err)
			require.Empty(t, examine(t, store))
			require.NoError(t, os.Rename(path, path+".old"))
			requireSymptom(t, examine(t, store), symptom{"file", "gone", true})
			require.NoError(t, os.Rename(path+".old", path))
			require.Empty(t, examine(t, store))
		})
	})
}

// keepIdle opens the two connections that a default pool keeps. The doctor gives
// up on a pool that takes long, and connecting takes long on a busy machine.
func keepIdle(t *testing.T, db *sql.DB) {
	t.Helper()
	for range 2 {
		c, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer c.Close()
	}
}

// What is set for a whole server needs one of its own.
func TestDoctorFindsWhatIsSetForTheWholeServer(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster, err := dbtest.Start("fsync=off", "full_page_writes=off",
			"synchronous_standby_names=nobody", "synchronous_commit=local")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
		_, err = dbtest.OpenPostgres(t, cluster.DSN("postgres")).
			Exec("CREATE DATABASE plain TEMPLATE template0 ENCODING 'SQL_ASCII'")
		require.NoError(t, err)
		store := postgresOn(t, dbtest.OpenPostgres(t, cluster.DSN("plain")), nil)
		require.NoError(t, store.Migrate(t.Context()))

		found := examine(t, store)
		for _, s := range []symptom{
			{"fsync", "off", true},
			{"full_page_writes", "off", true},
			{"synchronous_commit", "local", true},
			{"server_encoding", "SQL_ASCII", true},
		} {
			requireSymptom(t, found, s)
		}
		require.Len(t, found, 4)
	})
}

func TestDoctorFindsNothingWhereAllIsWell(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store := dbtest.Postgres(t)
		found := examine(t, store)
		// The server of the tests does not flush: that is true, and wanted.
		delete(found, "fsync")
		delete(found, "full_page_writes")
		require.Empty(t, found)
		require.Equal(t, found, examineAgain(t, store), "an examination changes nothing")
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store := dbtest.SQLite(t)
		require.Empty(t, examine(t, store))
		require.Empty(t, examine(t, store), "an examination changes nothing")
		require.Empty(t, examine(t, hostSQLite(t, dbtest.SQLitePath(t))), "a host's own pool, set as it should be")
	})
}

func examineAgain(t *testing.T, store onejob.Store) map[string]onejob.Finding {
	t.Helper()
	found := examine(t, store)
	delete(found, "fsync")
	delete(found, "full_page_writes")
	return found
}

// A finding that Doctor lists as one that breaks is refused in use, where the
// store can tell before it writes.
func TestABadWriterIsRefusedInUse(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, pragma := range []string{"foreign_keys(OFF)", "busy_timeout(0)", "journal_mode(DELETE)"} {
			store := hostSQLite(t, filepath.Join(t.TempDir(), "new.db"), pragma)
			require.ErrorIs(t, store.Migrate(t.Context()), onejob.ErrUnsupported, pragma)
			_, _, err := onejob.New(store, nil).Create(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"})
			require.ErrorIs(t, err, onejob.ErrUnsupported, pragma)
		}
	})
}

// hostSQLite is a store on a pool that a host made by itself: as it should be,
// but for the pragmas given.
func hostSQLite(t *testing.T, path string, pragmas ...string) *onejob.SQLiteStore {
	t.Helper()
	set := []string{"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}
	for _, p := range pragmas { // the driver sorts them, so none may be there twice
		name, _, _ := strings.Cut(p, "(")
		set = slices.DeleteFunc(set, func(s string) bool { return strings.HasPrefix(s, name) })
	}
	query := url.Values{"_pragma": append(set, pragmas...)}
	db, err := sql.Open("sqlite", "file:"+path+"?"+query.Encode())
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	require.NoError(t, db.PingContext(context.Background()))
	store, err := onejob.NewSQLiteStore(db, nil)
	require.NoError(t, err)
	return store
}
