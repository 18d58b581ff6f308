package onejob_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// migrateEnv is the address of the database that a process of ours is to
// migrate.
const migrateEnv = "ONEJOB_TEST_MIGRATE"

func TestMigrateFromEightProcessesAtOnce(t *testing.T) {
	if address := os.Getenv(migrateEnv); address != "" {
		migrateAsChild(t, address)
		return
	}
	t.Parallel()
	onEmptyDatabases(t, func(t *testing.T, e emptyDB) {
		errs := make([]error, 8)
		gate := make(chan struct{})
		var ready, over sync.WaitGroup
		for i := range errs {
			ready.Add(1)
			over.Go(func() { errs[i] = runMigrateChild(e.address, sync.OnceFunc(ready.Done), gate) })
		}
		ready.Wait()
		close(gate)
		over.Wait()
		require.NoError(t, errors.Join(errs...))
		e.works(t, e.open(t, e.address, ""), "k")
		dbtest.Check(t, e.db, e.table(""))
	})
}

// runMigrateChild runs this test in another process, which migrates when gate
// is closed.
func runMigrateChild(address string, ready func(), gate <-chan struct{}) error {
	defer ready()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, "-test.run=^TestMigrateFromEightProcessesAtOnce$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), migrateEnv+"="+address)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	out := bufio.NewReader(stdout)
	first, _ := out.ReadString('\n')
	ready()
	<-gate
	stdin.Close()
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s%s", err, first, rest)
	}
	return nil
}

func migrateAsChild(t *testing.T, address string) {
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	open := openSQLiteAt
	if strings.HasPrefix(address, "postgres") {
		open = openPostgresAt
	}
	store := open(t, address, "")
	require.NoError(t, store.Migrate(t.Context()))
	require.NoError(t, store.Migrate(t.Context()))
}

func TestNewPostgresStoreRefuses(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("postgres", "postgres://nobody@127.0.0.1:1/none") // nothing is sent
	require.NoError(t, err)
	defer db.Close()
	for _, schema := range []string{
		"x; DROP SCHEMA y", `a"b`, "OneJob", "1st", "a-b", "a.b", "ä", "a\n", " a", strings.Repeat("x", 32),
	} {
		_, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: schema})
		require.ErrorIs(t, err, onejob.ErrInvalid, schema)
		var e *onejob.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "PostgresOptions.Schema", e.Field)
	}
	_, err = onejob.NewPostgresStore(nil, nil)
	require.ErrorIs(t, err, onejob.ErrInvalid)
	for _, schema := range []string{"", "_", strings.Repeat("x", 31)} {
		_, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: schema})
		require.NoError(t, err, schema)
	}
}

// A host may be allowed no more than a schema that was made for it, and its
// running program not even that.
func TestMigrateByRolesWithFewPrivileges(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	admin := dbtest.OpenPostgres(t, dsn)
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	owner, runner := strings.TrimPrefix(u.Path, "/")+"_owner", strings.TrimPrefix(u.Path, "/")+"_runner"
	exec := func(statement string) {
		t.Helper()
		_, err := admin.Exec(statement)
		require.NoError(t, err, statement)
	}
	for _, role := range []string{owner, runner} {
		exec("CREATE ROLE " + role)
		t.Cleanup(func() { exec("DROP OWNED BY " + role + " CASCADE; DROP ROLE " + role) })
	}
	as := func(role string) (*sql.DB, *onejob.PostgresStore) {
		q := u.Query()
		q.Set("role", role)
		db := dbtest.OpenPostgres(t, (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: u.Path, RawQuery: q.Encode()}).String())
		store, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: "mine"})
		require.NoError(t, err)
		return db, store
	}
	exec("CREATE SCHEMA mine AUTHORIZATION " + owner)

	db, store := as(owner)
	_, err = db.Exec("CREATE SCHEMA other")
	require.Error(t, err, "the role may create schemas, so this test shows nothing")
	require.NoError(t, store.Migrate(t.Context()))
	require.NoError(t, store.MigrateTo(t.Context(), 0))
	require.NoError(t, store.Migrate(t.Context()))
	emptyDB{}.works(t, store, "owner's")

	exec("GRANT USAGE ON SCHEMA mine TO " + runner)
	exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mine TO " + runner)
	db, store = as(runner)
	_, err = db.Exec("CREATE TABLE mine.other ()")
	require.Error(t, err, "the role may create tables, so this test shows nothing")
	require.NoError(t, store.Migrate(t.Context()))
	emptyDB{}.works(t, store, "runner's")
	// What was granted table by table does not hold for a table that came later.
	exec("REVOKE ALL ON mine.turns FROM " + runner)
	_, err = onejob.NewOperator(onejob.New(store, nil)).TakeTurn(t.Context(), "purge", "a", time.Hour)
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.ErrorContains(t, err, "the role lacks a privilege")
	dbtest.Check(t, admin, "mine.")
}
