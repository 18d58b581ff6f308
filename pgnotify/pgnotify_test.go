package pgnotify_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/pgnotify"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	intent = onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}
	try    = onejob.Try{Provider: "primary", Timeout: time.Hour}
)

// blind is a store on which nobody sees anything by looking: what wakes a waiter
// is the word alone.
type blind struct {
	onejob.Store
	off   atomic.Bool
	looks atomic.Int64
}

func (s *blind) Settled(ctx context.Context, ids []onejob.JobID, clock func() time.Time) ([]onejob.JobID, error) {
	s.looks.Add(1)
	if s.off.Load() {
		return s.Store.(onejob.WaitStore).Settled(ctx, ids, clock)
	}
	return nil, nil
}

// world is a database with a process that waits and one that writes.
type world struct {
	t        *testing.T
	db       *sql.DB
	store    *blind
	waits    *onejob.Jobs
	writes   *onejob.Jobs
	waiter   *pgnotify.Notifier
	heard    *ear
	keyCount int
}

// ear hears the hints too.
type ear struct {
	mu    sync.Mutex
	hints []onejob.JobID
}

func (e *ear) hint(id onejob.JobID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hints = append(e.hints, id)
}

func (e *ear) count(id onejob.JobID) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.hints {
		if h == id {
			n++
		}
	}
	return n
}

func newWorld(t *testing.T, listenAt func(dsn string) string) *world {
	dsn := dbtest.PostgresDSN(t)
	w := &world{t: t, db: dbtest.OpenPostgres(t, dsn), heard: &ear{}}
	inner, err := onejob.NewPostgresStore(w.db, nil)
	require.NoError(t, err)
	w.store = &blind{Store: inner}
	open := func(dsn string) *pgnotify.Notifier {
		n, err := pgnotify.OpenSilent(dsn, w.db, io.Discard, 3*time.Second)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		return n
	}
	w.waiter = open(listenAt(dsn))
	w.waiter.Subscribe(w.heard.hint)
	w.waits = onejob.New(w.store, &onejob.Options{Notifier: w.waiter})
	w.writes = onejob.New(inner, &onejob.Options{Notifier: open(dsn)})
	w.listening()
	return w
}

func direct(dsn string) string { return dsn }

// listening returns once a word from the other process is heard.
func (w *world) listening() {
	w.t.Helper()
	before := w.heard.count(probe)
	require.Eventually(w.t, func() bool {
		_, err := w.db.Exec(`SELECT pg_notify('onejob_onejob', $1)`, probe)
		return err == nil && w.heard.count(probe) > before
	}, time.Minute, 20*time.Millisecond)
}

const probe = "00000000-0000-7000-8000-000000000000"

// start starts an attempt and waits for its job, in the background.
func (w *world) start() (onejob.Attempt, <-chan error) {
	w.t.Helper()
	in := intent
	w.keyCount++
	in.Key = fmt.Sprint("k", w.keyCount)
	job, a, err := w.writes.Start(w.t.Context(), in, try)
	require.NoError(w.t, err)
	done := make(chan error, 1)
	before := w.store.looks.Load()
	go func() {
		_, err := w.waits.Wait(w.t.Context(), "owner-1", job.ID)
		done <- err
	}()
	require.Eventually(w.t, func() bool { return w.store.looks.Load() > before }, time.Minute, time.Millisecond)
	return a, done
}

func TestAWordOfAnotherProcessEndsAWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, direct)
	for range 3 {
		a, done := w.start()
		_, err := w.writes.Complete(t.Context(), a, nil)
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
	a, done := w.start()
	_, err := w.writes.MarkUnknown(t.Context(), a, nil)
	require.NoError(t, err)
	require.NoError(t, <-done)
}

// What nobody heard is seen by looking, and what comes after the connection is
// back is heard again. A network that swallows everything closes no connection:
// that is found out by asking.
func TestTheLossOfTheListenersConnectionIsSurvived(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world, p *faultproxy.Proxy){
		"its backend is ended": func(w *world, _ *faultproxy.Proxy) {
			_, err := w.db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
			require.NoError(w.t, err)
		},
		"its connection is reset": func(_ *world, p *faultproxy.Proxy) { p.Sever(faultproxy.RST) },
		"its network is dead":     func(_ *world, p *faultproxy.Proxy) { p.Sever(faultproxy.Hang) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *faultproxy.Proxy
			w := newWorld(t, func(dsn string) string {
				proxy = faultproxy.New(t, dsn)
				return proxy.DSN
			})
			missed := w.heard.count("")
			a, done := w.start()
			b, later := w.start()
			lose(w, proxy)
			_, err := w.writes.Complete(t.Context(), a, nil)
			require.NoError(t, err)
			w.store.off.Store(true) // looking is the truth
			require.NoError(t, <-done)
			w.store.off.Store(false)

			require.Eventually(t, func() bool { return w.heard.count("") > missed }, time.Minute, time.Millisecond,
				"that words were missed is told")
			w.listening()
			_, err = w.writes.Complete(t.Context(), b, nil)
			require.NoError(t, err)
			require.NoError(t, <-later)
		})
	}
}

// Ten thousand changes are not ten thousand statements.
func TestWordsShareAStatement(t *testing.T) {
	t.Parallel()
	dsn := dbtest.PostgresDSN(t)
	wire := dbtest.NewWire(t, dsn)
	n, err := pgnotify.Open(dsn, dbtest.OpenPostgres(t, wire.DSN), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	heard := &ear{}
	n.Subscribe(heard.hint)
	require.Eventually(t, func() bool { n.Notify(probe); return heard.count(probe) > 0 }, time.Minute, 10*time.Millisecond)
	wire.RoundTrips()
	ids := make([]onejob.JobID, 1000)
	for i := range ids {
		ids[i] = onejob.JobID(fmt.Sprintf("00000000-0000-7000-8000-%012d", i+1))
	}
	for range 10 {
		for _, id := range ids {
			n.Notify(id)
		}
	}
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(ids, func(id onejob.JobID) bool { return heard.count(id) == 0 })
	}, time.Minute, 10*time.Millisecond, "1,000 at a time are within what is held")
	require.Less(t, wire.RoundTrips(), 1000)
}

func TestANotifierIsClosedWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, direct)
	n, err := pgnotify.Open("postgres://nobody@127.0.0.1:1/none?sslmode=disable", w.db, nil)
	require.NoError(t, err)
	n.Notify(probe)
	require.NoError(t, n.Close())
	n.Notify(probe) // is dropped
	require.Error(t, n.Close())
}

func TestWhatCannotServeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, direct)
	_, err := pgnotify.Open("postgres://x", nil, nil)
	require.ErrorContains(t, err, "db is required")
	_, err = pgnotify.Open("postgres://user:secret@host:port/", w.db, nil)
	require.ErrorContains(t, err, "dsn")
	require.NotContains(t, err.Error(), "secret")
	for _, schema := range []string{`x"; DROP`, "pg_catalog"} {
		_, err = pgnotify.Open("postgres://x", w.db, &pgnotify.Options{Schema: schema})
		require.ErrorContains(t, err, "Schema")
		require.ErrorIs(t, err, onejob.ErrInvalid)
	}
}
