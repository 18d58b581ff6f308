package onejob_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// wireBench is a store behind a proxy that counts its round trips, and a second
// connection past the proxy on which the server's own counters are read. The
// server is its own: transaction IDs and WAL are counted for all databases of
// a server, so a neighbor's write would count as ours.
type wireBench struct {
	*testing.T
	wire  *dbtest.Wire
	side  *sql.DB
	jobs  *onejob.Jobs
	op    *onejob.Operator
	taken int
}

func newWireBench(t *testing.T) *wireBench {
	// What the server does on its own account is switched off.
	cluster, err := dbtest.Start("fsync=off", "full_page_writes=off", "autovacuum=off",
		"wal_level=minimal", "max_wal_senders=0", "checkpoint_timeout=1h")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	b := &wireBench{T: t, wire: dbtest.NewWire(t, cluster.DSN("postgres"))}
	b.side = dbtest.OpenPostgres(t, cluster.DSN("postgres"))
	b.side.SetMaxOpenConns(1)

	pool := dbtest.OpenPostgres(t, b.wire.DSN)
	// With one connection a statement is prepared once, and then never again.
	pool.SetMaxOpenConns(1)
	store, err := onejob.NewPostgresStore(pool, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	b.jobs = onejob.New(store, nil)
	b.op = onejob.NewOperator(b.jobs)
	return b
}

// intent returns an intent with a key that was not used before.
func (b *wireBench) intent() onejob.Intent {
	b.taken++
	return onejob.Intent{Owner: "owner", Key: "key-" + time.Duration(b.taken).String(), Kind: "charge", Params: []byte(`{"a":1}`)}
}

var wireTry = onejob.Try{Provider: "acme", Timeout: time.Hour}

// start makes a job with a started attempt.
func (b *wireBench) start() (onejob.Intent, onejob.Job, onejob.Attempt) {
	b.Helper()
	in := b.intent()
	job, a, err := b.jobs.Start(b.Context(), in, wireTry)
	require.NoError(b, err)
	return in, job, a
}

// completed makes a job that its attempt has completed.
func (b *wireBench) completed() (onejob.Intent, onejob.Job, onejob.Attempt) {
	b.Helper()
	in, _, a := b.start()
	job, err := b.jobs.Complete(b.Context(), a, []byte("result"))
	require.NoError(b, err)
	return in, job, a
}

// cost is what an operation takes.
type cost struct {
	trips   int   // on the wire
	commits int   // transaction IDs that the server gave out
	wal     int64 // bytes
}

// counters reads the server's. None of it takes a transaction ID or writes.
func (b *wireBench) counters() (xid, lsn int64) {
	b.Helper()
	err := b.side.QueryRow(`SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
		pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&xid, &lsn)
	require.NoError(b, err)
	return xid, lsn
}

func (b *wireBench) measure(run func()) cost {
	b.Helper()
	xid, lsn := b.counters()
	b.wire.RoundTrips()
	run()
	trips := b.wire.RoundTrips()
	xid2, lsn2 := b.counters()
	return cost{trips, int(xid2 - xid), lsn2 - lsn}
}

// Each operation costs what the design promises, to the round trip: what is
// one statement today must not quietly become two. And a storm of double clicks
// is answered from memory: a duplicate that wrote would fill the disks of the
// primary and of every standby.
func TestOperationsCostTheirRoundTripsAndCommits(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		b := newWireBench(t)
		for _, test := range wireCosts {
			times := 1
			if test.commits == 0 {
				times = 50
			}
			run := test.prepare(b)
			require.NoError(t, run(), test.name) // prepares the statements
			if times == 1 {
				run = test.prepare(b)
			}
			got := b.measure(func() {
				for range times {
					require.NoError(t, run(), test.name)
				}
			})
			t.Logf("%2d × %-45s %3d round trips, %d commits, %4d bytes of WAL",
				times, test.name, got.trips, got.commits, got.wal)
			require.Equal(t, times*test.trips, got.trips, "%s: round trips", test.name)
			require.Equal(t, times*test.commits, got.commits, "%s: commits", test.name)
			if test.commits == 0 {
				require.Zero(t, got.wal, "%s: bytes of WAL", test.name)
			}
		}
	})
}

// wireRefused passes an error on unless it is the one expected.
func wireRefused(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return errors.Join(errors.New("not refused as it should be"), err)
}

// wireCosts are the operations. Each prepare makes what the operation needs and
// returns the operation.
var wireCosts = []struct {
	name           string
	trips, commits int
	prepare        func(b *wireBench) func() error
}{
	{"Create, new", 1, 1, func(b *wireBench) func() error {
		in := b.intent()
		return func() error { return second(b.jobs.Create(b.Context(), in)) }
	}},
	{"Create, duplicate", 2, 0, func(b *wireBench) func() error {
		in, _, _ := b.start()
		return func() error { return second(b.jobs.Create(b.Context(), in)) }
	}},
	{"Create, conflict", 2, 0, func(b *wireBench) func() error {
		in, _, _ := b.start()
		in.Kind = "refund"
		return func() error { return wireRefused(second(b.jobs.Create(b.Context(), in)), onejob.ErrKeyConflict) }
	}},
	{"CreateMany, new", 1, 1, func(b *wireBench) func() error {
		in := []onejob.Intent{b.intent(), b.intent(), b.intent()}
		return func() error { return first(b.jobs.CreateMany(b.Context(), in)) }
	}},
	{"CreateMany, one of them a duplicate", 2, 1, func(b *wireBench) func() error {
		known, _, _ := b.start()
		in := []onejob.Intent{b.intent(), known, b.intent()}
		return func() error { return first(b.jobs.CreateMany(b.Context(), in)) }
	}},
	{"CreateMany, all of them duplicates", 2, 0, func(b *wireBench) func() error {
		known, _, _ := b.start()
		other, _, _ := b.start()
		in := []onejob.Intent{known, other}
		return func() error { return first(b.jobs.CreateMany(b.Context(), in)) }
	}},
	{"BeginAttempt", 1, 1, func(b *wireBench) func() error {
		job, _, err := b.jobs.Create(b.Context(), b.intent())
		require.NoError(b, err)
		return b.begin(job, nil)
	}},
	{"BeginAttempt, refused by a started attempt", 1, 0, func(b *wireBench) func() error {
		_, job, _ := b.start()
		return b.begin(job, onejob.ErrAttemptOpen)
	}},
	{"BeginAttempt, refused by an unknown attempt", 1, 0, func(b *wireBench) func() error {
		_, job, a := b.start()
		_, err := b.jobs.MarkUnknown(b.Context(), a, nil)
		require.NoError(b, err)
		return b.begin(job, onejob.ErrInDoubt)
	}},
	{"BeginAttempt, refused by a completed job", 1, 0, func(b *wireBench) func() error {
		_, job, _ := b.completed()
		return b.begin(job, onejob.ErrCompleted)
	}},
	{"BeginAttempt, refused by a canceled job", 1, 0, func(b *wireBench) func() error {
		job, _, err := b.jobs.Create(b.Context(), b.intent())
		require.NoError(b, err)
		_, err = b.op.CancelJob(b.Context(), job.ID, onejob.Decision{By: "ada", Reason: "withdrawn"})
		require.NoError(b, err)
		return b.begin(job, onejob.ErrJobCanceled)
	}},
	// Nothing in the way and no attempt either: it is looked for once more.
	{"BeginAttempt, another owner's job", 2, 0, func(b *wireBench) func() error {
		_, job, _ := b.start()
		job.Owner = "stranger"
		return b.begin(job, onejob.ErrNotFound)
	}},
	{"Complete", 1, 1, func(b *wireBench) func() error {
		_, _, a := b.start()
		return func() error { return first(b.jobs.Complete(b.Context(), a, []byte("result"))) }
	}},
	{"Complete, repeated by the winner", 2, 1, func(b *wireBench) func() error {
		_, _, a := b.completed()
		return func() error { return first(b.jobs.Complete(b.Context(), a, []byte("result"))) }
	}},
	{"Complete, late", 2, 1, func(b *wireBench) func() error {
		_, job, a := b.start()
		_, err := b.op.DetachAttempt(b.Context(), a.ID, onejob.Decision{By: "ada", Reason: "too slow"})
		require.NoError(b, err)
		other, err := b.jobs.BeginAttempt(b.Context(), job, wireTry)
		require.NoError(b, err)
		_, err = b.jobs.Complete(b.Context(), other, []byte("the winner's"))
		require.NoError(b, err)
		return func() error {
			return wireRefused(first(b.jobs.Complete(b.Context(), a, []byte("late"))), onejob.ErrLateResult)
		}
	}},
	{"Start, new", 1, 1, func(b *wireBench) func() error {
		in := b.intent()
		return b.startOn(in, nil)
	}},
	{"Start, on a key whose attempt runs", 2, 0, func(b *wireBench) func() error {
		in, _, _ := b.start()
		return b.startOn(in, onejob.ErrAttemptOpen)
	}},
	{"Start, on a key whose job is completed", 2, 0, func(b *wireBench) func() error {
		in, _, _ := b.completed()
		return b.startOn(in, onejob.ErrCompleted)
	}},
	{"Fail, with proof", 1, 1, func(b *wireBench) func() error {
		_, _, a := b.start()
		return func() error { return first(b.jobs.Fail(b.Context(), a, onejob.NoEffect(errors.New("refused")))) }
	}},
	{"Fail, without proof", 1, 1, func(b *wireBench) func() error {
		_, _, a := b.start()
		return func() error { return first(b.jobs.Fail(b.Context(), a, errors.New("reset"))) }
	}},
	{"Extend", 1, 1, func(b *wireBench) func() error {
		_, _, a := b.start()
		return func() error { return first(b.jobs.Extend(b.Context(), a, 2*time.Hour)) }
	}},
	{"SetExternalRef", 1, 1, func(b *wireBench) func() error {
		_, _, a := b.start()
		return func() error { return first(b.jobs.SetExternalRef(b.Context(), a, "ch_1")) }
	}},
	{"Get", 1, 0, func(b *wireBench) func() error {
		in, job, _ := b.start()
		return func() error { return first(b.jobs.Get(b.Context(), in.Owner, job.ID)) }
	}},
	{"GetByKey", 1, 0, func(b *wireBench) func() error {
		in, _, _ := b.start()
		return func() error { return first(b.jobs.GetByKey(b.Context(), in.Owner, in.Key)) }
	}},
}

func (b *wireBench) begin(job onejob.Job, expected error) func() error {
	return func() error {
		_, err := b.jobs.BeginAttempt(b.Context(), job, wireTry)
		if expected == nil {
			return err
		}
		return wireRefused(err, expected)
	}
}

func (b *wireBench) startOn(in onejob.Intent, expected error) func() error {
	return func() error {
		_, _, err := b.jobs.Start(b.Context(), in, wireTry)
		if expected == nil {
			return err
		}
		return wireRefused(err, expected)
	}
}

func first[T any](_ T, err error) error          { return err }
func second[T, U any](_ T, _ U, err error) error { return err }
