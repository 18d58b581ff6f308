package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestAWrongDSNIsToldWithoutItsPassword(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(dbtest.PostgresDSN(t))
	require.NoError(t, err)
	silent, _ := deaf(t)
	for _, c := range []struct {
		code int
		dsn  string
		want string
	}{
		{exitUsage, "", "which database?"},
		{exitUsage, "mysql://app:geheim@host/db", "mysql is not one of the databases"},
		{exitUsage, "postgres://app:gehe/im@host/db", "cannot be read"},
		{exitUsage, "postgres://app:geheim@host:port/db", "cannot be read"},
		{exitUsage, "postgres://app:geheim@host/db?sslmode=geheim", "cannot be read"},
		{exitUsage, "host=h password='geheim", "cannot be read"},
		{exitUsage, "host=h password", "cannot be read"},
		{exitUsage, ":memory:", "in memory"},
		{exitUsage, "sqlite:", "names no file"},
		{exitUsage, "file:jobs.db?_pragma=geheim", "without a question mark"},
		{exitNoAnswer, "postgres://app:geheim@127.0.0.1:1/db", "127.0.0.1:1: cannot connect"},
		{exitNoAnswer, "host=127.0.0.1 port=1 user=app password=geheim dbname=db", "127.0.0.1:1: cannot connect"},
		{exitNoAnswer, "postgres://app:geheim@nowhere.invalid/db", "cannot be resolved"},
		{exitNoAnswer, "postgres://app:geheim@" + silent + "/db?sslmode=disable&connect_timeout=1", silent + ": no answer in time"},
		{exitFailed, fmt.Sprintf("postgres://onejob:geheim@%s/nosuch?sslmode=disable", u.Host), `database "nosuch" does not exist`},
		{exitFailed, fmt.Sprintf("postgres://nobody:geheim@%s%s?sslmode=disable", u.Host, u.Path), `role "nobody" does not exist`},
		{exitFailed, fmt.Sprintf("postgres://onejob:geheim@%s%s?sslmode=require", u.Host, u.Path), "sslmode=disable"},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			s := runWith(t, []string{"ONEJOB_DSN=" + c.dsn}, append([]string{"open"}, more...)...)
			require.Equal(t, c.code, s.code, "%s: %s", c.dsn, s.err)
			require.Contains(t, strings.ReplaceAll(s.err, `\"`, `"`), c.want, c.dsn)
			require.NotContains(t, s.out+s.err, "geheim", c.dsn)
			require.NotContains(t, s.out+s.err, "gehe/im", c.dsn)
			require.NotContains(t, s.err, "Error.Cause")
		}
	}
}

// deaf takes connections and says nothing. It tells of each.
func deaf(t *testing.T) (address string, taken <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	tell := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			tell <- struct{}{}
		}
	}()
	return l.Addr().String(), tell
}

// Somebody pastes the DSN where an ID belongs.
func TestAPasswordInTheWrongPlaceIsNotRepeated(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://app:ge@heim@host/db?password=geheim"
	for _, args := range [][]string{
		{dsn}, {"show", dsn}, {"refute", dsn, "--by", "b", "--reason", "r"}, {"--dns", dsn}, {"--dns=" + dsn}, {"open", dsn},
		{"open", "--state", dsn}, {"open", "--before", dsn}, {"--dsn", "/none/" + dsn, "open"}, {"show", "host=h password=geheim"},
		{"show", "password = 'ge heim'"},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			s := runWith(t, []string{"ONEJOB_DSN=/tmp/none.db"}, append(args, more...)...)
			require.NotEqual(t, exitDone, s.code)
			require.NotContains(t, s.out+s.err, "heim", "%v", args)
		}
	}
}

func TestEveryWayToWriteADSN(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLitePath(t)
	pg := dbtest.PostgresDSN(t)
	u, err := url.Parse(pg)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(u.Host)
	require.NoError(t, err)
	for _, dsn := range []string{
		path, "sqlite:" + path, "sqlite://" + path, "file:" + path, pg, "postgresql" + strings.TrimPrefix(pg, "postgres"),
		fmt.Sprintf("host=%s port=%s user=onejob dbname=%s sslmode=disable", host, port, u.Path[1:]),
	} {
		s := runWith(t, nil, "open", "--dsn", dsn)
		require.Equal(t, exitDone, s.code, s.err)
		require.Equal(t, exitDone, runWith(t, []string{"ONEJOB_DSN=" + dsn}, "open").code)
		require.Equal(t, exitDone, runWith(t, []string{"ONEJOB_DSN=mysql://x"}, "open", "--dsn", dsn).code, "the flag counts")
	}
}

// What a role may not do is no riddle.
func TestARoleWithoutPrivilegesIsToldSo(t *testing.T) {
	t.Parallel()
	w := onPostgres(t, dbtest.PostgresDSN(t))
	role := "guest_" + strings.TrimPrefix(mustParse(t, w.dsn).Path, "/")
	w.exec("CREATE ROLE " + role + " LOGIN")
	t.Cleanup(func() {
		_, err := w.db.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	_, a := w.unknown(intent("k"), "acme-pay")
	guest := mustParse(t, w.dsn)
	guest.User = url.User(role)
	poor := &world{T: t, dsn: guest.String()}
	require.Contains(t, poor.exits(exitFailed, "open").err, "permission denied for schema onejob")
	w.exec("GRANT USAGE ON SCHEMA onejob TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA onejob TO " + role)
	require.Contains(t, poor.does("open"), "1 attempt")
	require.Contains(t, poor.exits(exitFailed, with(byBob, "refute", string(a.ID), "--yes")...).err, "permission denied for table")
}

func mustParse(t *testing.T, dsn string) *url.URL {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	return u
}

// A standby answers questions of nobody who decides.
func TestAReadOnlyDatabaseIsToldSo(t *testing.T) {
	t.Parallel()
	w := onPostgres(t, dbtest.PostgresDSN(t))
	_, a := w.unknown(intent("k"), "acme-pay")
	ro := &world{T: t, dsn: w.dsn + "&options=-cdefault_transaction_read_only%3Don"}
	s := ro.exits(exitFailed, with(byBob, "refute", string(a.ID), "--yes")...)
	require.Contains(t, s.err, "read-only, perhaps a standby")
}

// A table that somebody has locked makes a question wait for ever.
func TestASignalEndsAQuestionThatWaits(t *testing.T) {
	t.Parallel()
	w := onPostgres(t, dbtest.PostgresDSN(t))
	tx, err := w.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE onejob.attempts IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	for _, command := range []string{"open", "stats"} {
		cmd := exec.Command(binary, command)
		cmd.Env = environ([]string{"ONEJOB_DSN=" + w.dsn})
		var errs strings.Builder
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			var waits int
			err := w.db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE NOT l.granted AND a.application_name = 'onejob' AND a.datname = current_database()`).Scan(&waits)
			return err == nil && waits > 0
		}, 5*time.Minute, 10*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), errs.String())
		require.Contains(t, errs.String(), "interrupted: nothing was done")
	}
}

// The driver minds no context while it waits for the first answer.
func TestASignalEndsTheWaitForAServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"open"}, {"stats"}, {"migrate", "up"}} {
		l, taken := deaf(t)
		cmd := exec.Command(binary, args...)
		cmd.Env = environ([]string{"ONEJOB_DSN=postgres://app@" + l + "/db?sslmode=disable&connect_timeout=3600"})
		require.NoError(t, cmd.Start())
		<-taken
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
	}
}
