package pgdial_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/pgdial"
)

func TestMain(m *testing.M) {
	// These tests wait more than they work. Whoever asks for another number gets it.
	_ = flag.Set("test.parallel", "8")
	dbtest.Main(m)
}

// short is far below what a test waits for before it calls a call hung.
const (
	short    = time.Second
	watchdog = 30 * time.Second
)

var _ interface {
	pq.Dialer
	pq.DialerContext
} = pgdial.Dialer{}

// open opens a pool that uses the dialer.
func open(t *testing.T, dsn string, dialer pq.Dialer) *sql.DB {
	t.Helper()
	connector, err := pq.NewConnector(dsn)
	require.NoError(t, err)
	connector.Dialer(dialer)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	t.Cleanup(func() { within(t, "closing the pool", func() { db.Close() }) })
	return db
}

func jobsOn(t *testing.T, db *sql.DB) *onejob.Jobs {
	t.Helper()
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	return onejob.New(store, nil)
}

// within fails the test, with what everybody was doing, if f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(watchdog):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s hangs:\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// fill makes the pool hold n connections.
func fill(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	for range n {
		var c *sql.Conn
		// On a busy machine the server itself may seem silent.
		require.Eventually(t, func() (ok bool) {
			var err error
			c, err = db.Conn(t.Context())
			return err == nil
		}, watchdog, time.Millisecond)
		defer c.Close()
	}
}

// blackHole is a server that takes everything and says nothing.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// The reason for this package. If it fails, lib/pq has learned to mind a
// context, and the package may no longer be needed.
func TestWithoutTheDialerAContextEndsNoWait(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, dbtest.PostgresDSN(t))
	jobs := jobsOn(t, dbtest.OpenPostgres(t, proxy.DSN))
	_, _, err := jobs.Create(t.Context(), intent("warm"))
	require.NoError(t, err)

	hit := proxy.Once(faultproxy.Fault{At: faultproxy.AfterCommit, Do: faultproxy.Hang})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, _, err := jobs.Create(ctx, intent("k"))
		done <- err
	}()
	<-hit
	select {
	case err := <-done:
		t.Fatal("it returned: ", err)
	case <-time.After(2 * time.Second):
	}
	proxy.Sever(faultproxy.RST)
	within(t, "Create after the reset", func() { <-done })
}

func TestASilentConnectionGivesATimeout(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(t, dbtest.EmptyPostgresDSN(t))
	db := open(t, proxy.DSN, pgdial.Dialer{Silence: short})
	fill(t, db, 1)
	proxy.Sever(faultproxy.Hang)
	var err error
	within(t, "the statement", func() { _, err = db.Exec("SELECT 1") })
	var network net.Error
	require.ErrorAs(t, err, &network)
	require.True(t, network.Timeout())
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.NotEqual(t, "dial", op.Op, "a failed dial would prove that nothing was done")
	require.ErrorContains(t, err, "silent for 1s")
	require.False(t, errors.Is(err, context.DeadlineExceeded))
	fill(t, db, 1) // the pool has thrown it away
}
