package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// binary is what go install would make.
var binary string

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dbtest.Main(m)
}

// build makes the binary. dbtest.Main ends the process, so the directory is
// removed by another that notices.
func build() error {
	dir, err := os.MkdirTemp("", "onejob-command-")
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "onejob")
	remover := exec.Command("sh", "-c", `trap '' INT TERM; cat; rm -rf "$0"`, dir)
	held, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	remover.Stdin = held
	if err := remover.Start(); err != nil {
		return err
	}
	held.Close()
	keep = alive
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// keep is what ends with this process.
var keep io.Closer

// world is a database as a host left it, and an operator before it.
type world struct {
	*testing.T
	dsn    string
	store  store
	jobs   *onejob.Jobs
	op     *onejob.Operator
	db     *sql.DB // to turn back what the host wrote
	tables string
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		test(onPostgres(t, dbtest.PostgresDSN(t)))
	})
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		test(onSQLite(t, dbtest.SQLitePath(t)))
	})
}

func onPostgres(t *testing.T, dsn string) *world {
	t.Helper()
	db := dbtest.OpenPostgres(t, dsn)
	s, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	return newWorld(t, dsn, s, db, "onejob.")
}

func onSQLite(t *testing.T, path string) *world {
	t.Helper()
	s := dbtest.OpenSQLite(t, path)
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return newWorld(t, "sqlite:"+path, s, db, "onejob_")
}

func newWorld(t *testing.T, dsn string, s store, db *sql.DB, tables string) *world {
	jobs := onejob.New(s, nil)
	return &world{t, dsn, s, jobs, onejob.NewOperator(jobs), db, tables}
}

func (w *world) postgres() bool { return w.tables == "onejob." }

// said is what the command said, and its exit code.
type said struct {
	code     int
	out, err string
}

// run runs the command with nobody at the terminal.
func (w *world) run(args ...string) said {
	w.Helper()
	return runWith(w.T, []string{"ONEJOB_DSN=" + w.dsn}, args...)
}

func runWith(t *testing.T, env []string, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = environ(env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return said{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// environ is this one without what would reach the command by accident.
func environ(more []string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ONEJOB_") && !strings.HasPrefix(e, "PG") {
			env = append(env, e)
		}
	}
	return append(env, more...)
}

// does runs the command, which succeeds, and returns its output.
func (w *world) does(args ...string) string {
	w.Helper()
	s := w.run(args...)
	require.Equal(w, exitDone, s.code, "%v: %s%s", args, s.out, s.err)
	return s.out
}

// exits is that the command ends with the code; it returns what it said.
func (w *world) exits(code int, args ...string) said {
	w.Helper()
	s := w.run(args...)
	require.Equal(w, code, s.code, "%v: %s%s", args, s.out, s.err)
	if code != exitDone {
		require.NotEmpty(w, s.err)
	}
	return s
}

// document runs the command with --json and reads its one document.
func document[T any](w *world, code int, args ...string) (doc T) {
	w.Helper()
	s := w.exits(code, append(args, "--json")...)
	dec := json.NewDecoder(strings.NewReader(s.out))
	require.NoError(w, dec.Decode(&doc), s.out)
	require.ErrorIs(w, dec.Decode(&doc), io.EOF, "one document")
	return doc
}

// attempts is the document of open and late.
type attempts struct {
	Attempts []struct {
		ID    onejob.AttemptID
		State onejob.State
		Cause string
		Job   struct{ ID, Owner, Key, Status string }
	}
	More bool
}

// outcomes is the document of a bulk run.
type outcomes struct {
	Outcomes []struct {
		Attempt         onejob.AttemptID
		Outcome, Detail string
	}
	Summary map[string]int
}

// intent is one of user-7's.
func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "user-7", Key: key, Kind: "charge", Params: []byte(`{"card":"payload-canary"}`)}
}

// started begins an attempt that has an hour.
func (w *world) started(in onejob.Intent, provider string) (onejob.Job, onejob.Attempt) {
	w.Helper()
	job, a, err := w.jobs.Start(w.Context(), in, onejob.Try{Provider: provider, Timeout: time.Hour})
	require.NoError(w, err)
	return job, a
}

// unknown is an attempt whose call left a doubt.
func (w *world) unknown(in onejob.Intent, provider string) (onejob.Job, onejob.Attempt) {
	w.Helper()
	_, a := w.started(in, provider)
	job, err := w.jobs.MarkUnknown(w.Context(), a, errors.New("EOF"))
	require.NoError(w, err)
	return job, *job.Attempt
}

// completed is a job that is done.
func (w *world) completed(in onejob.Intent, provider string) (onejob.Job, onejob.Attempt) {
	w.Helper()
	_, a := w.started(in, provider)
	job, err := w.jobs.Complete(w.Context(), a, []byte(`{"receipt":"payload-canary"}`))
	require.NoError(w, err)
	return job, *job.Attempt
}

// late is an attempt that was detached and came back after another had won.
func (w *world) late(in onejob.Intent) (onejob.Job, onejob.Attempt) {
	w.Helper()
	job, a := w.unknown(in, "acme-pay")
	_, err := w.op.DetachAttempt(w.Context(), a.ID, ada)
	require.NoError(w, err)
	b, err := w.jobs.BeginAttempt(w.Context(), job, onejob.Try{Provider: "other-pay", Timeout: time.Hour})
	require.NoError(w, err)
	job, err = w.jobs.Complete(w.Context(), b, []byte("won"))
	require.NoError(w, err)
	_, err = w.jobs.Complete(w.Context(), a, []byte("lost-canary"))
	require.ErrorIs(w, err, onejob.ErrLateResult)
	return job, a
}

var ada = onejob.Decision{By: "ada", Reason: "acme is down"}

// exec turns back what the host wrote; {t} stands before a table's name.
func (w *world) exec(statement string) {
	w.Helper()
	_, err := w.db.ExecContext(w.Context(), strings.ReplaceAll(statement, "{t}", w.tables))
	require.NoError(w, err)
}

// earlier moves a job and its attempts into the past.
func (w *world) earlier(id onejob.JobID, by time.Duration) {
	w.Helper()
	move := fmt.Sprintf(" - %d", by.Microseconds())
	if w.postgres() {
		move = fmt.Sprintf(" - interval '%d microseconds'", by.Microseconds())
	}
	set := func(columns ...string) string {
		for i, c := range columns {
			columns[i] = c + " = " + c + move
		}
		return strings.Join(columns, ", ")
	}
	w.exec(fmt.Sprintf("UPDATE {t}jobs SET %s WHERE id = '%s'", set("created_at", "ended_at", "purged_at"), id))
	w.exec(fmt.Sprintf("UPDATE {t}attempts SET %s WHERE job_id = '%s'", set("started_at", "deadline", "ended_at", "late_at"), id))
}

// now is an attempt as it stands.
func (w *world) now(id onejob.AttemptID) onejob.Attempt {
	w.Helper()
	_, a, err := w.jobs.GetAttempt(w.Context(), id)
	require.NoError(w, err)
	return a
}

var byBob = []string{"--by", "bob", "--reason", "acme says no"}

func with(args []string, more ...string) []string {
	return append(append([]string{}, more...), args...)
}
