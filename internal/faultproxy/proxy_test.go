package faultproxy_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// rows counts on a connection that does not go through the proxy.
func rows(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow("SELECT count(*) FROM plain").Scan(&n))
	return n
}

// The proxy is worth what its aim is worth: each fault must leave exactly the
// rows that its name says.
func TestFaultsHitWhereTheySay(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	direct := dbtest.OpenPostgres(t, dsn)
	_, err := direct.Exec("CREATE TABLE plain (n int)")
	require.NoError(t, err)

	insert := func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "INSERT INTO plain VALUES ($1)", 1)
		return err
	}
	inTx := func(ctx context.Context, db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "INSERT INTO plain VALUES ($1)", 1); err != nil {
			return err
		}
		return tx.Commit()
	}
	for _, c := range []struct {
		name  string
		fault faultproxy.Fault
		write func(context.Context, *sql.DB) error
		fails bool
		rows  int
	}{
		{"reset before the statement", faultproxy.Fault{At: faultproxy.BeforeCommit, Do: faultproxy.RST}, insert, true, 0},
		{"reset after the statement", faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.RST}, insert, true, 1},
		{"end before the statement: the driver sends again", faultproxy.Fault{At: faultproxy.BeforeCommit, Do: faultproxy.FIN}, insert, false, 1},
		{"end after the statement: the driver runs it twice", faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.FIN}, insert, false, 2},
		{"delay", faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.Delay, Delay: time.Millisecond}, insert, false, 1},
		{"reset before COMMIT", faultproxy.Fault{At: faultproxy.BeforeCommit, Do: faultproxy.RST}, inTx, true, 0},
		{"reset after COMMIT", faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.RST}, inTx, true, 1},
		{"end after COMMIT", faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.FIN}, inTx, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := direct.Exec("TRUNCATE plain")
			require.NoError(t, err)
			proxy := faultproxy.New(t, dsn)
			db := dbtest.OpenPostgres(t, proxy.DSN)
			require.NoError(t, db.Ping())
			hit := proxy.Once(c.fault)
			err = c.write(t.Context(), db)
			<-hit
			require.Equal(t, 1, proxy.Faults())
			require.Equal(t, c.fails, err != nil, "%v", err)
			require.Equal(t, c.rows, rows(t, direct))
		})
	}
}

func TestASilentConnectionStaysSilentUntilItIsCut(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	proxy := faultproxy.New(t, dsn)
	db := dbtest.OpenPostgres(t, proxy.DSN)
	_, err := db.Exec("CREATE TABLE plain (n int)")
	require.NoError(t, err)
	hit := proxy.Once(faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.Hang})
	done := make(chan error)
	go func() {
		_, err := db.Exec("INSERT INTO plain VALUES (1)")
		done <- err
	}()
	<-hit
	select {
	case err := <-done:
		t.Fatal("it heard something: ", err)
	case <-time.After(100 * time.Millisecond):
	}
	proxy.Sever(faultproxy.RST)
	require.Error(t, <-done)
	require.Equal(t, 1, rows(t, dbtest.OpenPostgres(t, dsn)))
}

// What is swallowed is lost without a word, and its connection lives on.
func TestSwallowedMessagesAreNotHeard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   faultproxy.Point
		rows int
	}{
		{"the server never hears of the statement", faultproxy.BeforeCommit, 0},
		{"the client never hears of the commit", faultproxy.AfterCommit, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dsn := dbtest.EmptyPostgresDSN(t)
			direct := dbtest.OpenPostgres(t, dsn)
			_, err := direct.Exec("CREATE TABLE plain (n int)")
			require.NoError(t, err)
			proxy := faultproxy.New(t, dsn)
			db := dbtest.OpenPostgres(t, proxy.DSN)
			require.NoError(t, db.Ping())
			hit := proxy.Once(faultproxy.Fault{At: c.at, Do: faultproxy.Swallow})
			done := make(chan error, 1)
			go func() {
				_, err := db.Exec("INSERT INTO plain VALUES (1)")
				done <- err
			}()
			<-hit
			select {
			case err := <-done:
				t.Fatal("it heard something: ", err)
			case <-time.After(100 * time.Millisecond):
			}
			require.Equal(t, c.rows, rows(t, direct))
			proxy.Sever(faultproxy.RST)
			require.Error(t, <-done)
			require.Equal(t, c.rows, rows(t, direct))
			require.Equal(t, 1, proxy.Faults())
		})
	}
}

// A refusal is an answer that can be lost like any other.
func TestTheReplyToAStatementThatFoundNothingToWriteCanBeCut(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	proxy := faultproxy.New(t, dsn)
	db := dbtest.OpenPostgres(t, proxy.DSN)
	_, err := db.Exec("CREATE TABLE plain (n int PRIMARY KEY)")
	require.NoError(t, err)
	const insert = "INSERT INTO plain VALUES (1) ON CONFLICT DO NOTHING"
	_, err = db.Exec(insert)
	require.NoError(t, err)
	proxy.Once(faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.RST})
	_, err = db.Exec(insert)
	require.Error(t, err)
	require.Equal(t, 1, proxy.Faults())
	require.Equal(t, 1, rows(t, dbtest.OpenPostgres(t, dsn)))
}

// A refused statement and a rolled back transaction are no commits.
func TestNothingIsCutWhereNothingWasCommitted(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, dbtest.EmptyPostgresDSN(t))
	db := dbtest.OpenPostgres(t, proxy.DSN)
	_, err := db.Exec("CREATE TABLE plain (n int PRIMARY KEY)")
	require.NoError(t, err)
	proxy.Decide(func(at faultproxy.Point) faultproxy.Fault {
		if at == faultproxy.AfterCommit {
			return faultproxy.Fault{At: at, Do: faultproxy.RST}
		}
		return faultproxy.Fault{}
	})
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec("INSERT INTO plain VALUES (1)")
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	_, err = db.Exec("INSERT INTO plain VALUES ('x')")
	require.Error(t, err)
	require.Equal(t, 0, rows(t, db))
	require.Zero(t, proxy.Faults())
}
