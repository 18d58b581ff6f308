package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// server is what one test process shares: a cluster of its own, or the one that
// ONEJOB_TEST_POSTGRES names, and a migrated database to copy.
type server struct {
	cluster  *Cluster // nil where it is not ours
	dsn      string
	admin    *sql.DB
	template string
	count    atomic.Int64
}

var shared struct {
	once sync.Once
	srv  *server
	err  error
}

// Main runs a package's tests and then stops what they shared, and calls after.
// Call it from TestMain.
func Main(m *testing.M, after ...func()) {
	code := m.Run()
	for _, f := range after {
		f()
	}
	if s := shared.srv; s != nil {
		s.close()
	}
	os.Exit(code)
}

func (s *server) close() {
	_, _ = s.admin.Exec("DROP DATABASE IF EXISTS " + s.template + " WITH (FORCE)")
	s.admin.Close()
	if s.cluster != nil {
		_ = s.cluster.Stop()
	}
}

func startServer() (*server, error) {
	s := &server{dsn: os.Getenv("ONEJOB_TEST_POSTGRES"), template: fmt.Sprintf("onejob_template_%d", os.Getpid())}
	if s.dsn == "" {
		// The machine may lose its power during a test; its files go with it.
		c, err := Start("fsync=off", "full_page_writes=off")
		if err != nil {
			return nil, err
		}
		s.cluster, s.dsn = c, c.DSN("postgres")
	}
	var err error
	if s.admin, err = sql.Open("postgres", s.dsn); err != nil {
		return nil, err
	}
	if _, err = s.admin.Exec("CREATE DATABASE " + s.template); err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", s.address(s.template))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	store, err := onejob.NewPostgresStore(db, nil)
	if err != nil {
		return nil, err
	}
	return s, store.Migrate(context.Background())
}

// address is the DSN of another database on the same server.
func (s *server) address(database string) string {
	u, err := url.Parse(s.dsn)
	if err != nil {
		panic("dbtest: ONEJOB_TEST_POSTGRES must be an address that begins with postgres://")
	}
	u.Path = "/" + database
	return u.String()
}

// PostgresDSN returns the address of a database of the test's own, migrated to
// the newest version, with the default schema. When the test ends its rows are
// checked and it is dropped. A missing PostgreSQL fails the test.
func PostgresDSN(t testing.TB) string {
	t.Helper()
	dsn := EmptyPostgresDSN(t)
	t.Cleanup(func() {
		db, err := sql.Open("postgres", dsn)
		require.NoError(t, err)
		defer db.Close()
		Check(t, db, "onejob.")
	})
	return dsn
}

// EmptyPostgresDSN is PostgresDSN without the check of the rows, for tests that
// take the schema apart.
func EmptyPostgresDSN(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.srv, shared.err = startServer() })
	require.NoError(t, shared.err)
	s := shared.srv
	name := fmt.Sprintf("onejob_test_%d_%d", os.Getpid(), s.count.Add(1))
	_, err := s.admin.Exec("CREATE DATABASE " + name + " TEMPLATE " + s.template)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := s.admin.Exec("DROP DATABASE " + name + " WITH (FORCE)")
		require.NoError(t, err)
	})
	return s.address(name)
}

// OpenPostgres opens a pool as a host should: with as many idle connections as
// open ones.
func OpenPostgres(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	require.NoError(t, err)
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	t.Cleanup(func() { db.Close() })
	return db
}

// Postgres returns a store on a database of the test's own.
func Postgres(t testing.TB) *onejob.PostgresStore {
	t.Helper()
	store, err := onejob.NewPostgresStore(OpenPostgres(t, PostgresDSN(t)), nil)
	require.NoError(t, err)
	return store
}
