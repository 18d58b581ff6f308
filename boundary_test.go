package onejob_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// One clock, read by all: an attempt is started before its deadline and in
// doubt from that very microsecond on, whoever looks. Only a clock that stands
// still can show it, so this is for the store that has none of its own.
func TestADeadlineIsOverAtItsVeryMicrosecond(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		clock := newHandClock()
		jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Now: clock.Now})
		op := onejob.NewOperator(jobs)
		job, a, err := jobs.Start(ctx, clockIntent("a"), hourTry)
		require.NoError(t, err)
		state := func() onejob.State {
			t.Helper()
			read, now, err := jobs.GetAttempt(ctx, a.ID)
			require.NoError(t, err)
			require.Equal(t, now.State, read.Attempt.State)
			stats, err := op.Stats(ctx)
			require.NoError(t, err)
			require.Equal(t, now.State == onejob.StateStarted, stats.Started == 1)
			require.Equal(t, now.State == onejob.StateUnknown, stats.Unknown == 1)
			for entry, err := range op.Attempts(ctx, onejob.Filter{States: []onejob.State{now.State}}) {
				require.NoError(t, err)
				require.Equal(t, now, entry.Attempt)
				return now.State
			}
			require.Fail(t, "the list does not show it as "+string(now.State))
			return ""
		}
		require.Equal(t, onejob.StateStarted, state())
		clock.jump(time.Hour - time.Microsecond)
		require.Equal(t, onejob.StateStarted, state())
		clock.jump(time.Microsecond)
		require.Equal(t, onejob.StateUnknown, state())
		_, err = jobs.Extend(ctx, a, time.Hour)
		require.ErrorIs(t, err, onejob.ErrInDoubt)
		_, err = jobs.BeginAttempt(ctx, job, hourTry)
		require.ErrorIs(t, err, onejob.ErrInDoubt)

		clock.jump(-time.Microsecond)
		a, err = jobs.Extend(ctx, a, time.Hour)
		require.NoError(t, err, "one microsecond was left")
		require.Equal(t, clock.stored().Add(time.Hour), a.Deadline)
	})
}

// A job may be open for years: what it is kept for counts from its end.
func TestPurgeCountsTheAgeFromTheEndOfAJob(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		clock := newHandClock()
		jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Now: clock.Now})
		op := onejob.NewOperator(jobs)
		_, a, err := jobs.Start(ctx, clockIntent("a"), hourTry)
		require.NoError(t, err)
		clock.jump(1000 * time.Hour)
		_, err = jobs.Complete(ctx, a, []byte("result"))
		require.NoError(t, err)
		purge := func(r onejob.Retention, want int) {
			t.Helper()
			n, err := op.Purge(ctx, r, 10)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		payloads := onejob.Retention{Payloads: time.Hour}
		purge(payloads, 0)
		clock.jump(time.Hour - time.Microsecond)
		purge(payloads, 0)
		clock.jump(time.Microsecond)
		purge(payloads, 1)
		tombstones := onejob.Retention{Tombstones: 2 * time.Hour}
		purge(tombstones, 0)
		clock.jump(time.Hour)
		purge(tombstones, 1)
	})
}
