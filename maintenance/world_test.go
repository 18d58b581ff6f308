package maintenance_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/maintenance"
)

func TestMain(m *testing.M) {
	if raw := os.Getenv(childEnv); raw != "" {
		child(raw)
		return
	}
	dbtest.Main(m)
}

// world is a database and what a host has on it.
type world struct {
	*testing.T
	store onejob.Store
	jobs  *onejob.Jobs
	op    *onejob.Operator
	logs  *dbtest.Log
	where errand // for other processes
}

func newWorld(t *testing.T, store onejob.Store, where errand) *world {
	jobs := onejob.New(store, nil)
	return &world{T: t, store: store, jobs: jobs, op: onejob.NewOperator(jobs), logs: new(dbtest.Log), where: where}
}

// onBoth runs a test on both stores, in real time.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.PostgresDSN(t)
		store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), nil)
		require.NoError(t, err)
		test(newWorld(t, store, errand{DSN: dsn}))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := dbtest.SQLitePath(t)
		test(newWorld(t, dbtest.OpenSQLite(t, path), errand{File: path}))
	})
}

// inNoTime runs a test whose days are over at once, on a real file of SQLite: its
// clock is the bubble's. When the test returns nothing may be left that runs.
func inNoTime(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		path := dbtest.SQLitePath(t)
		test(newWorld(t, dbtest.OpenSQLite(t, path), errand{File: path}))
	})
}

func (w *world) loop(c maintenance.Config) *maintenance.Loop {
	w.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	l, err := maintenance.New(w.jobs, c)
	require.NoError(w, err)
	return l
}

// start runs a loop until the test ends.
func (w *world) start(c maintenance.Config) *maintenance.Loop {
	w.Helper()
	l := w.loop(c)
	require.NoError(w, l.Start())
	w.Cleanup(func() { require.NoError(w, l.Stop(context.Background())) })
	return l
}

// until waits for what other goroutines and processes bring about.
func (w *world) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(60 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		require.True(w, time.Now().Before(end), "waited in vain until %s\n%s", what, w.logs)
	}
}

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-canary", Key: key, Kind: "charge", Params: []byte(`"params-canary"`)}
}

// final completes so many jobs.
func (w *world) final(n int) { w.finalOf("final", n) }

func (w *world) finalOf(key string, n int) {
	w.Helper()
	for i := range n {
		_, a, err := w.jobs.Start(w.Context(), intent(fmt.Sprint(key, "-", i)), onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(w, err)
		_, err = w.jobs.Complete(w.Context(), a, []byte("result-canary"))
		require.NoError(w, err)
	}
}

// doubt leaves so many attempts unknown.
func (w *world) doubt(n int) {
	w.Helper()
	for i := range n {
		_, a, err := w.jobs.Start(w.Context(), intent(fmt.Sprint("doubt-", i)), onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(w, err)
		_, err = w.jobs.Fail(w.Context(), a, errors.New("no answer"))
		require.NoError(w, err)
	}
}

// sqlite opens a pool of the host's own on the file.
func (w *world) sqlite() *sql.DB {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.where.File+"?_pragma=busy_timeout(5000)")
	require.NoError(w, err)
	w.Cleanup(func() { db.Close() })
	return db
}

func (w *world) stats() onejob.Stats {
	w.Helper()
	s, err := w.op.Stats(w.Context())
	require.NoError(w, err)
	return s
}

// asking is a Reconcile that calls run and counts nothing.
func asking(every time.Duration, run func(ctx context.Context) error) []maintenance.Reconcile {
	return []maintenance.Reconcile{{Every: every, Run: func(ctx context.Context) (maintenance.Pass, error) {
		return maintenance.Pass{}, run(ctx)
	}}}
}

func asked(l *maintenance.Loop) maintenance.Task { return l.Counters().Reconcile["default"] }

var bubble = regexp.MustCompile(`synctest bubble \d+\]`)

// ours are the goroutines of the test's bubble that run code of the package.
func ours() []string {
	buf := make([]byte, 4<<20)
	mine := bubble.FindString(string(buf[:runtime.Stack(buf, false)]))
	var found []string
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, mine) && strings.Contains(g, "onejob/maintenance.(") {
			found = append(found, g)
		}
	}
	return found
}
