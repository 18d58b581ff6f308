package onejob_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// handClock stands still until it is set, which may also be backwards.
type handClock struct {
	mu    sync.Mutex
	at    time.Time
	asked int
}

func newHandClock() *handClock {
	// Nanoseconds, and a zone of its own: neither may come back.
	zone := time.FixedZone("east", 5*3600+1800)
	return &handClock{at: time.Date(2031, 3, 1, 12, 0, 0, 123456789, zone)}
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.at
}

func (c *handClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// stored is what the clock's time is once it is kept.
func (c *handClock) stored() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.UTC().Truncate(time.Microsecond)
}

func clockIntent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner", Key: key, Kind: "charge", Params: []byte(`{"a":1}`)}
}

var hourTry = onejob.Try{Provider: "acme", Timeout: time.Hour}

// Times that were stored come from Options.Now where the store has no clock,
// whichever operation stores them.
func TestStoredTimesFollowTheClockOfSQLite(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		clock := newHandClock()
		jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Now: clock.Now})
		op := onejob.NewOperator(jobs)
		ctx := t.Context()

		job, _, err := jobs.Create(ctx, clockIntent("a"))
		require.NoError(t, err)
		created := clock.stored()
		require.Equal(t, created, job.CreatedAt)

		clock.jump(24 * time.Hour)
		a, err := jobs.BeginAttempt(ctx, job, hourTry)
		require.NoError(t, err)
		require.Equal(t, clock.stored(), a.StartedAt)
		require.Equal(t, clock.stored().Add(time.Hour), a.Deadline)

		clock.jump(time.Minute)
		a, err = jobs.Extend(ctx, a, 2*time.Hour)
		require.NoError(t, err)
		require.Equal(t, clock.stored().Add(2*time.Hour), a.Deadline)

		_, err = op.DetachAttempt(ctx, a.ID, onejob.Decision{By: "ada", Reason: "slow"})
		require.NoError(t, err)
		other, err := jobs.BeginAttempt(ctx, job, hourTry)
		require.NoError(t, err)
		clock.jump(-48 * time.Hour)
		job, err = jobs.Complete(ctx, other, []byte("result"))
		require.NoError(t, err)
		require.Equal(t, created, job.CreatedAt)
		require.Equal(t, clock.stored(), job.EndedAt, "also where that is before it was created")
		require.Equal(t, clock.stored(), job.Attempt.EndedAt)

		clock.jump(time.Second)
		_, err = jobs.Complete(ctx, a, []byte("late"))
		require.ErrorIs(t, err, onejob.ErrLateResult)
		_, a, err = jobs.GetAttempt(ctx, a.ID)
		require.NoError(t, err)
		require.Equal(t, clock.stored(), a.LateAt)
		require.Equal(t, clock.stored(), a.EndedAt)

		clock.jump(72 * time.Hour)
		n, err := op.Purge(ctx, onejob.Retention{Payloads: time.Hour}, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		job, err = jobs.Get(ctx, "owner", job.ID)
		require.NoError(t, err)
		require.Equal(t, clock.stored(), job.PurgedAt)

		canceled, _, err := jobs.Create(ctx, clockIntent("b"))
		require.NoError(t, err)
		clock.jump(-time.Hour)
		canceled, err = op.CancelJob(ctx, canceled.ID, onejob.Decision{By: "ada", Reason: "withdrawn"})
		require.NoError(t, err)
		require.Equal(t, clock.stored(), canceled.EndedAt)
	})
}

// A clock that jumps makes an attempt overdue, or not overdue any more. It
// never makes room for a second one, and never takes a result away.
func TestNoJumpOfTheClockBreaksASafetyRule(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name  string
			jumps []time.Duration
		}{
			{"a day forward", []time.Duration{24 * time.Hour}},
			{"a day backward", []time.Duration{-24 * time.Hour}},
			{"forward and backward", []time.Duration{24 * time.Hour, -48 * time.Hour}},
			{"backward and forward", []time.Duration{-24 * time.Hour, 48 * time.Hour}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				clock := newHandClock()
				jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Now: clock.Now})
				op := onejob.NewOperator(jobs)
				ctx := t.Context()
				// by tells what the deadline rule says now.
				by := func(a onejob.Attempt) onejob.State {
					if clock.stored().Before(a.Deadline) {
						return onejob.StateStarted
					}
					return onejob.StateUnknown
				}
				job, a, err := jobs.Start(ctx, clockIntent("a"), hourTry)
				require.NoError(t, err)
				for _, jump := range test.jumps {
					clock.jump(jump)
					again, created, err := jobs.Create(ctx, clockIntent("a"))
					require.NoError(t, err)
					require.False(t, created)
					require.Equal(t, job.ID, again.ID)
					require.Equal(t, by(a), again.Attempt.State)

					_, err = jobs.BeginAttempt(ctx, job, hourTry)
					require.ErrorIs(t, err, onejob.ErrAttemptOpen)
					require.Equal(t, by(a) == onejob.StateUnknown, errors.Is(err, onejob.ErrInDoubt))

					n, err := op.Purge(ctx, onejob.Retention{Payloads: time.Microsecond, Tombstones: time.Microsecond}, 10)
					require.NoError(t, err)
					require.Zero(t, n, "open jobs are never purged")
				}
				done, err := jobs.Complete(ctx, a, []byte("result"))
				require.NoError(t, err, "a deadline keeps no result out")
				require.Equal(t, onejob.JobCompleted, done.State)
				for _, jump := range test.jumps {
					clock.jump(-jump)
					_, err = jobs.BeginAttempt(ctx, job, hourTry)
					require.ErrorIs(t, err, onejob.ErrCompleted)
					same, err := jobs.Complete(ctx, a, []byte("result"))
					require.NoError(t, err, "the winner hears that it won")
					require.Equal(t, done, same)
				}
			})
		}
	})
}

// The doubt that a jump makes is durable once it is swept: turning the clock
// back does not end it.
func TestTurningTheClockBackEndsNoDoubt(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		clock := newHandClock()
		jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Now: clock.Now})
		op := onejob.NewOperator(jobs)
		job, a, err := jobs.Start(t.Context(), clockIntent("a"), hourTry)
		require.NoError(t, err)

		clock.jump(time.Hour - time.Microsecond)
		swept, err := op.Sweep(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, swept, "one microsecond is left")
		clock.jump(time.Microsecond)
		swept, err = op.Sweep(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, swept, 1)

		clock.jump(-24 * time.Hour)
		_, now, err := jobs.GetAttempt(t.Context(), a.ID)
		require.NoError(t, err)
		require.Equal(t, onejob.StateUnknown, now.State)
		_, err = jobs.BeginAttempt(t.Context(), job, hourTry)
		require.ErrorIs(t, err, onejob.ErrInDoubt)
		_, err = jobs.Extend(t.Context(), a, time.Hour)
		require.ErrorIs(t, err, onejob.ErrInDoubt)
	})
}

// PostgreSQL has a clock of its own: one for all hosts, whatever their own
// ones say.
func TestPostgresNeverAsksForTheClock(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		clock := newHandClock()
		jobs := onejob.New(dbtest.Postgres(t), &onejob.Options{Now: clock.Now})
		for range eachOperation(t, jobs) {
		}
		require.Zero(t, clock.asked)
	})
}

// Whatever an operation returns, the same comes back from a read: in UTC, in
// whole microseconds, equal to the last one.
func TestTimesComeBackAsTheyWereReturned(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		// The host's own clock has nanoseconds and a zone.
		zone := time.FixedZone("west", -3*3600)
		jobs := onejob.New(store, &onejob.Options{Now: func() time.Time { return time.Now().In(zone) }})
		for op, job := range eachOperation(t, jobs) {
			read, err := jobs.Get(t.Context(), job.Owner, job.ID)
			require.NoError(t, err, op)
			require.Equal(t, read, job, op)
			require.NotZero(t, job.CreatedAt, op)
			requireWhole(t, op, job.CreatedAt, job.EndedAt, job.PurgedAt)
			list, err := jobs.Attempts(t.Context(), job.Owner, job.ID)
			require.NoError(t, err)
			for _, a := range list {
				requireWhole(t, op, a.StartedAt, a.Deadline, a.EndedAt, a.LateAt)
				require.Equal(t, a.Timeout, a.Timeout.Truncate(time.Microsecond), op)
			}
		}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		// The server sends times in the zone of the session.
		dsn := withSetting(t, dbtest.PostgresDSN(t), "timezone", "Asia/Kolkata")
		check(t, postgresOn(t, dbtest.OpenPostgres(t, dsn), nil))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
	})
}

func requireWhole(t *testing.T, op string, times ...time.Time) {
	t.Helper()
	for _, at := range times {
		require.Equal(t, time.UTC, at.Location(), op)
		require.Equal(t, at, at.Truncate(time.Microsecond), op)
	}
}

// eachOperation carries operations out and yields the job that each returned.
func eachOperation(t *testing.T, jobs *onejob.Jobs) func(yield func(string, onejob.Job) bool) {
	op := onejob.NewOperator(jobs)
	word := onejob.Decision{By: "ada", Reason: "asked"}
	ctx := t.Context()
	return func(yield func(string, onejob.Job) bool) {
		step := func(name string, job onejob.Job, err error) onejob.Job {
			t.Helper()
			require.NoError(t, err, name)
			require.True(t, yield(name, job))
			return job
		}
		attempt := func(name string, a onejob.Attempt, err error) onejob.Attempt {
			t.Helper()
			require.NoError(t, err, name)
			job, same, err := jobs.GetAttempt(ctx, a.ID)
			require.NoError(t, err, name)
			require.Equal(t, same, a, name)
			step("GetAttempt", job, nil)
			return a
		}
		job, _, err := jobs.Create(ctx, clockIntent("a"))
		step("Create", job, err)
		odd := onejob.Try{Provider: "acme", Timeout: time.Hour + 1500*time.Nanosecond}
		a, err := jobs.BeginAttempt(ctx, job, odd)
		attempt("BeginAttempt", a, err)
		a, err = jobs.Extend(ctx, a, 2*time.Hour+time.Nanosecond)
		attempt("Extend", a, err)
		a, err = jobs.SetExternalRef(ctx, a, "ch_1")
		attempt("SetExternalRef", a, err)
		job, err = jobs.MarkUnknown(ctx, a, errors.New("no answer"))
		step("MarkUnknown", job, err)
		job, err = jobs.Fail(ctx, a, onejob.NoEffect(errors.New("refused")))
		step("Fail", job, err)

		job, a, err = jobs.Start(ctx, clockIntent("a"), odd)
		attempt("Start", a, err)
		step("Start", job, nil)
		job, err = op.DetachAttempt(ctx, a.ID, word)
		step("DetachAttempt", job, err)
		other, err := jobs.BeginAttempt(ctx, job, odd)
		attempt("BeginAttempt", other, err)
		job, err = jobs.Complete(ctx, other, []byte("result"))
		step("Complete", job, err)
		_, err = jobs.Complete(ctx, a, []byte("late"))
		require.ErrorIs(t, err, onejob.ErrLateResult)
		var refusal *onejob.Error
		require.ErrorAs(t, err, &refusal)
		step("Complete, late", refusal.Job, nil)
		job, err = jobs.GetByKey(ctx, "owner", "a")
		step("GetByKey", job, err)

		job, a, err = jobs.Start(ctx, clockIntent("b"), odd)
		step("Start, new", job, err)
		job, err = op.CancelAttempt(ctx, a.ID, word)
		step("CancelAttempt", job, err)
		job, err = op.CancelJob(ctx, job.ID, word)
		step("CancelJob", job, err)
		for n := 0; n < 2; { // until both have been over for a microsecond
			done, err := op.Purge(ctx, onejob.Retention{Payloads: time.Microsecond}, 10)
			require.NoError(t, err)
			n += done
		}
		job, err = jobs.GetByKey(ctx, "owner", "b")
		step("Purge", job, err)
		_, err = op.Sweep(ctx, 10)
		require.NoError(t, err)
		_, err = op.Stats(ctx)
		require.NoError(t, err)
		for _, err := range op.Attempts(ctx, onejob.Filter{Late: true}) {
			require.NoError(t, err)
		}
	}
}
