package pgdial_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/pgdial"
)

// pooled is how many connections the pools of these tests hold.
const pooled = 3

// hole is a network that swallows.
type hole struct {
	name string
	// writes: it opens at a commit, so that reads do not meet it. bounds: it is
	// tried without a context's deadline too.
	writes, bounds bool
	// digs opens the hole, now or at the next commit. fills closes it again for
	// new connections; the old ones stay silent, as they do in reality.
	digs, fills func(t *testing.T, p *faultproxy.Proxy)
}

func at(point faultproxy.Point) func(*testing.T, *faultproxy.Proxy) {
	return func(_ *testing.T, p *faultproxy.Proxy) { p.Once(faultproxy.Fault{At: point, Do: faultproxy.Hang}) }
}

func allAfter(t *testing.T, p *faultproxy.Proxy) {
	nobody := blackHole(t)
	p.Decide(func(at faultproxy.Point) faultproxy.Fault {
		if at != faultproxy.AfterCommit {
			return faultproxy.Fault{}
		}
		p.Retarget(nobody)
		p.Sever(faultproxy.Hang)
		return faultproxy.Fault{At: at, Do: faultproxy.Hang}
	})
}

func nothing(*testing.T, *faultproxy.Proxy) {}

func holes(server string) []hole {
	back := func(_ *testing.T, p *faultproxy.Proxy) {
		p.Decide(nil)
		p.Retarget(server)
	}
	return []hole{
		{"one connection, before the commit", true, false, at(faultproxy.BeforeCommit), nothing},
		{"one connection, after the commit", true, true, at(faultproxy.AfterCommit), nothing},
		{"all connections there are", false, false,
			func(_ *testing.T, p *faultproxy.Proxy) { p.Sever(faultproxy.Hang) }, nothing},
		{"the whole network", false, false, func(t *testing.T, p *faultproxy.Proxy) {
			p.Retarget(blackHole(t))
			p.Sever(faultproxy.Hang)
		}, back},
		{"the whole network, after the commit", true, false, allAfter, back},
	}
}

func TestEveryOperationReturnsFromABlackHole(t *testing.T) {
	t.Parallel()
	dsn := dbtest.PostgresDSN(t)
	direct := jobsOn(t, dbtest.OpenPostgres(t, dsn))
	for _, h := range holes(address(t, dsn)) {
		for _, op := range operations {
			if h.writes && !op.writes {
				continue
			}
			t.Run(h.name+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				op.inHole(t, dsn, direct, h, 50*time.Millisecond)
			})
			if h.bounds {
				t.Run(h.name+"/"+op.name+" without a deadline", func(t *testing.T) {
					t.Parallel()
					op.inHole(t, dsn, direct, h, watchdog)
				})
			}
		}
	}
}

func (op operation) inHole(t *testing.T, dsn string, direct *onejob.Jobs, h hole, limit time.Duration) {
	proxy := faultproxy.New(t, dsn)
	db := open(t, proxy.DSN, pgdial.Dialer{Silence: short})
	jobs := jobsOn(t, db)
	fill(t, db, pooled)
	// What the store prepares and looks at first is not what is asked here.
	require.Eventually(t, func() bool {
		_, err := jobs.GetByKey(t.Context(), "o", "none")
		return errors.Is(err, onejob.ErrNotFound)
	}, watchdog, time.Millisecond)
	s := op.prepare(t, t.Name(), direct, jobs)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	h.digs(t, proxy)
	var err error
	within(t, op.name, func() { err = op.run(ctx, s) })
	if err != nil {
		require.ErrorIs(t, err, onejob.ErrUnavailable)
	}

	h.fills(t, proxy)
	op.settles(t, direct, s)
}

// Not parallel: it counts the goroutines of the driver.
func TestABlackHoleLeavesNothingBehind(t *testing.T) {
	proxy := faultproxy.New(t, dbtest.PostgresDSN(t))
	db := open(t, proxy.DSN, pgdial.Dialer{Silence: short})
	jobs := jobsOn(t, db)
	fill(t, db, 8)
	proxy.Retarget(blackHole(t))
	proxy.Sever(faultproxy.Hang)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 24)
	for range cap(ended) {
		go func() {
			_, _, err := jobs.Create(ctx, intent("k"))
			ended <- err
		}()
	}
	for range cap(ended) {
		var err error
		within(t, "Create", func() { err = <-ended })
		require.ErrorIs(t, err, onejob.ErrUnavailable)
	}
	within(t, "closing the pool", func() { require.NoError(t, db.Close()) })
	within(t, "the last connection", func() {
		// The proxy serves a connection for as long as the client holds it.
		for goroutines("github.com/lib/pq.", "onejob/pgdial.(", "faultproxy.(*Proxy).serve") > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// A statement that the server works on for longer than Silence is cut: the
// documented price.
func TestAStatementLongerThanSilenceIsCut(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	db := open(t, dsn, pgdial.Dialer{Silence: short})
	var err error
	within(t, "the statement", func() { _, err = db.Exec("SELECT pg_sleep(600)") })
	require.ErrorContains(t, err, "silent for")

	// With statement_timeout below Silence the server's own answer comes first.
	db = open(t, dsn+"&statement_timeout=100", pgdial.Dialer{Silence: watchdog})
	within(t, "the statement", func() { _, err = db.Exec("SELECT pg_sleep(600)") })
	var state interface{ SQLState() string }
	require.True(t, errors.As(err, &state), "%v", err)
	require.Equal(t, "57014", state.SQLState())
}

func TestAnIdleConnectionIsNotSilent(t *testing.T) {
	t.Parallel()
	db := open(t, dbtest.EmptyPostgresDSN(t), pgdial.Dialer{Silence: short})
	db.SetMaxOpenConns(1)
	// On a busy machine the server itself may seem silent: an error is tried
	// again, but not every time. Another connection without one is a failure.
	for tries := 5; ; tries-- {
		fill(t, db, 1)
		var before, after int
		err := db.QueryRow("SELECT pg_backend_pid()").Scan(&before)
		time.Sleep(3 * short)
		if err == nil {
			err = db.QueryRow("SELECT pg_backend_pid()").Scan(&after)
		}
		if err == nil || tries == 1 {
			require.NoError(t, err)
			require.Equal(t, before, after)
			return
		}
	}
}
