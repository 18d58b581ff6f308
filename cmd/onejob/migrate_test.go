package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// newest is the version that this program needs.
var newest = func() int {
	s, err := new(globals).offline(sqlite)
	if err != nil {
		panic(err)
	}
	return len(migrationFiles(s))
}()

// standingDoc is the document of migrate status.
type standingDoc struct {
	State      string
	Have, Need int
}

// onEmpty runs a test on databases without tables.
func onEmpty(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		w := onPostgres(t, dbtest.EmptyPostgresDSN(t))
		require.NoError(t, w.store.MigrateTo(t.Context(), 0))
		w.exec("DROP SCHEMA onejob")
		test(w)
	})
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "onejob.db")
		test(&world{T: t, dsn: path, tables: "onejob_"})
	})
}

func TestUpMakesTheTablesAndDownTakesThemAway(t *testing.T) {
	t.Parallel()
	onEmpty(t, func(w *world) {
		if w.postgres() {
			w.exits(exitSchema, "migrate", "status")
			require.Contains(w, w.exits(exitSchema, "open").err, `run "onejob migrate up"`)
		} else {
			w.exits(exitUsage, "migrate", "status") // there is no file
		}
		require.Contains(w, w.does("migrate", "up"), fmt.Sprintf("from version 0 to %d", newest))
		require.Contains(w, w.does("migrate", "up"), fmt.Sprintf("at version %d already", newest))
		require.Equal(w, standingDoc{"current", newest, newest}, document[standingDoc](w, exitDone, "migrate", "status"))
		require.Contains(w, w.does("open"), "nothing is open")

		s := w.exits(exitNotConfirmed, "migrate", "down", "--to", "1")
		require.Contains(w, s.err, "qualifications with 0 rows")
		w.does("migrate", "down", "--to", "1", "--yes")
		require.Equal(w, standingDoc{"behind", 1, newest}, document[standingDoc](w, exitSchema, "migrate", "status"))
		for _, args := range [][]string{{"open"}, {"stats"}, with(byBob, "cancel", "01a22ce0-3dcb-7bea-84ac-c939d539d608-0123456789abcdef", "--yes")} {
			s = w.exits(exitSchema, args...)
			require.Contains(w, s.err, fmt.Sprintf("the schema is at version 1 and this program needs %d", newest))
			require.Contains(w, s.err, `run "onejob migrate up"`)
		}
		require.Contains(w, w.does("migrate", "up"), fmt.Sprintf("from version 1 to %d", newest))
		w.does("migrate", "down", "--to", "0", "--yes")
		require.Equal(w, standingDoc{"missing", 0, newest}, document[standingDoc](w, exitSchema, "migrate", "status"))
		w.exits(exitSchema, "migrate", "down", "--to", "0", "--yes")
	})
}

func TestDownSaysHowManyJobsAreLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.unknown(intent("a"), "acme-pay")
		w.completed(intent("b"), "acme-pay")
		s := w.exits(exitNotConfirmed, "migrate", "down", "--to", "0")
		require.Contains(w, s.err, w.tables+"jobs with 2 rows")
		require.Contains(w, s.err, w.tables+"attempts with 2 rows")
		require.Contains(w, s.err, "add --yes")
		require.Contains(w, w.does("stats"), "completed  1")
	})
}

func TestANewerSchemaServesAndIsNotTakenDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.exec("INSERT INTO {t}migrations (version) VALUES (99)")
		require.Equal(w, standingDoc{"ahead", 99, newest}, document[standingDoc](w, exitDone, "migrate", "status"))
		require.Contains(w, w.does("migrate", "up"), fmt.Sprintf("newer than the %d that this program knows: left alone", newest))
		w.does("open")
		require.Contains(w, w.exits(exitFailed, "migrate", "down", "--to", "1", "--yes").err, fmt.Sprintf("this program knows only %d", newest))
	})
}

// A DBA runs what is printed, with the database's own shell.
func TestWhatIsPrintedCanBeRun(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--database", "oracle"}, {"--from", "99", "--database", "sqlite"}, nil} {
		s := runWith(t, nil, append([]string{"migrate", "print"}, args...)...)
		require.Equal(t, exitUsage, s.code, "%v", args)
	}
	onEmpty(t, func(w *world) {
		first := w.does("migrate", "print", "--to", "1")
		rest := w.does("migrate", "print", "--from", "1")
		down := w.does("migrate", "print", "--from", strconv.Itoa(newest), "--to", "0")
		require.Contains(w, rest, fmt.Sprintf("from version 1 to %d", newest))
		require.NotContains(w, rest, "CREATE TABLE "+w.tables+"jobs")
		shell := func(script string) {
			w.Helper()
			if w.postgres() {
				cmd := exec.Command("psql", "-v", "ON_ERROR_STOP=1", "-q", w.dsn)
				cmd.Stdin = strings.NewReader(script)
				out, err := cmd.CombinedOutput()
				require.NoError(w, err, string(out))
				return
			}
			db, err := sql.Open("sqlite", w.dsn)
			require.NoError(w, err)
			defer db.Close()
			db.SetMaxOpenConns(1)
			_, err = db.ExecContext(w.Context(), script)
			require.NoError(w, err)
		}
		shell(first)
		require.Equal(w, 1, document[standingDoc](w, exitSchema, "migrate", "status").Have)
		shell(rest)
		require.Equal(w, "current", document[standingDoc](w, exitDone, "migrate", "status").State)
		if !w.postgres() {
			// Nothing has opened the file as onejob does: it has no WAL yet.
			require.Contains(w, w.exits(exitSchema, "open").err, `"onejob migrate up"`)
			w.does("migrate", "up")
		}
		require.Contains(w, w.does("open"), "nothing is open")
		shell(down)
		require.Equal(w, "missing", document[standingDoc](w, exitSchema, "migrate", "status").State)
	})
}

func TestPrintNeedsNoConnection(t *testing.T) {
	t.Parallel()
	s := runWith(t, nil, "migrate", "print", "--dsn", "postgres://u:geheim@127.0.0.1:1/none", "--schema", "jobs_of_mine")
	require.Equal(t, exitDone, s.code, s.err)
	require.Contains(t, s.out, `CREATE TABLE "jobs_of_mine".attempts`)
	require.Contains(t, s.out, `hashtextextended('onejob.jobs_of_mine', 0)`)
	s = runWith(t, nil, "migrate", "print", "--database", "sqlite", "--prefix", "mine_")
	require.Equal(t, exitDone, s.code, s.err)
	require.Contains(t, s.out, "CREATE TABLE mine_attempts")
	s = runWith(t, nil, "migrate", "print", "--database", "sqlite", "--schema", "x")
	require.Equal(t, exitUsage, s.code)
}

// The migrations that run elsewhere at the same time wait, and none is lost.
func TestUpFromManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	onEmpty(t, func(w *world) {
		codes := make(chan said)
		const n = 6
		for range n {
			go func() { codes <- w.run("migrate", "up") }()
		}
		for range n {
			s := <-codes
			require.Equal(w, exitDone, s.code, s.err)
		}
		require.Equal(w, "current", document[standingDoc](w, exitDone, "migrate", "status").State)
	})
}

func TestNothingButUpMakesAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "none.db")
	const id = "01a22ce0-3dcb-7bea-84ac-c939d539d608-0123456789abcdef"
	for _, args := range [][]string{
		{"open"}, {"show", id}, with(byBob, "refute", id, "--yes"), with(byBob, "cancel-job", id[:36], "--yes"), {"late"}, {"stats"},
		with(byBob, "cancel", "--all", "--kind", "k", "--yes"), {"doctor"}, {"qualifications"}, {"sweep"}, {"purge", "--older-than", "1d", "--yes"},
		{"migrate", "status"}, {"migrate", "down", "--to", "0", "--yes"}, {"migrate", "print"},
	} {
		s := runWith(t, []string{"ONEJOB_DSN=" + path}, args...)
		want := exitUsage
		if args[len(args)-1] == "print" {
			want = exitDone
		} else {
			require.Contains(t, s.err, "there is no file", "%v", args)
			require.NotContains(t, s.err, "migrate up", "who mistypes a path at night makes an empty database by it")
		}
		require.Equal(t, want, s.code, "%v: %s", args, s.err)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A wrong path must not turn another program's file into something else.
func TestAFileOfAnotherProgramIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "theirs.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE migrations (version INTEGER); INSERT INTO migrations VALUES (7)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	for _, file := range []string{path, text, dir} {
		before, _ := os.ReadFile(file)
		for _, args := range [][]string{{"open"}, {"sweep"}, {"doctor"}, {"migrate", "status"}, {"migrate", "down", "--to", "0", "--yes"}, {"purge", "--older-than", "1d", "--yes"}} {
			s := runWith(t, []string{"ONEJOB_DSN=" + file}, args...)
			require.NotEqual(t, exitDone, s.code, "%v", args)
			if file != path {
				require.Equal(t, exitFailed, s.code, "%v: %s", args, s.err)
			}
		}
		after, _ := os.ReadFile(file)
		require.True(t, bytes.Equal(before, after), file)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "no journal is left")
}

func TestTablesUnderAnotherNameAreFoundWhereTheFlagSaysSo(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		w := onPostgres(t, dbtest.PostgresDSN(t))
		other, err := onejob.NewPostgresStore(w.db, &onejob.PostgresOptions{Schema: "other"})
		require.NoError(t, err)
		require.NoError(t, other.Migrate(t.Context()))
		w.unknown(intent("k"), "acme-pay")
		require.Contains(t, w.does("open", "--schema", "other"), "nothing is open")
		require.Contains(t, w.exits(exitSchema, "open", "--schema", "wrong").err, "there are some under onejob, other: give that with --schema")
		require.Contains(t, w.exits(exitUsage, "open", "--schema", "Wrong!").err, "--schema")
		require.Contains(t, w.exits(exitUsage, "open", "--prefix", "x_").err, "--prefix is for SQLite")
		require.Contains(t, w.does("open", "--unprepared"), "1 attempt: 1 unknown")
	})
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "jobs.db")
		w := &world{T: t, dsn: "sqlite:" + path}
		w.does("migrate", "up", "--prefix", "mine_")
		require.Contains(t, w.does("open", "--prefix", "mine_"), "nothing is open")
		require.Contains(t, w.exits(exitSchema, "open").err, "there are some under mine_: give that with --prefix")
		require.Contains(t, w.exits(exitUsage, "open", "--schema", "x").err, "--schema is for PostgreSQL")
		require.Contains(t, w.exits(exitUsage, "open", "--unprepared").err, "--unprepared is for PostgreSQL")
	})
}
