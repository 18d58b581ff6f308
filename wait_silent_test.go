package onejob_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// silent is a store whose first look hangs, whatever its context says, as a
// driver does on a connection that has fallen silent.
type silent struct {
	*onejob.SQLiteStore
	looks chan struct{}
	end   chan struct{}
}

func (s *silent) Settled(ctx context.Context, ids []onejob.JobID, clock func() time.Time) ([]onejob.JobID, error) {
	select {
	case s.looks <- struct{}{}:
		<-s.end
	default:
	}
	return s.SQLiteStore.Settled(ctx, ids, clock)
}

func TestOneSilentConnectionStopsNoWaiter(t *testing.T) {
	t.Parallel()
	s := &silent{SQLiteStore: dbtest.SQLite(t), looks: make(chan struct{}, 1), end: make(chan struct{})}
	t.Cleanup(func() { close(s.end) })
	jobs := onejob.New(s, nil)
	var waits [2]chan error
	var attempts [2]onejob.Attempt
	for i, key := range []string{"own", "others"} {
		job, a, err := jobs.Start(t.Context(), intentOf(key), hourTry)
		require.NoError(t, err)
		attempts[i], waits[i] = a, make(chan error, 1)
		go func() {
			_, err := jobs.Wait(t.Context(), "owner-1", job.ID)
			waits[i] <- err
		}()
	}
	require.Eventually(t, func() bool { return len(s.looks) == 1 }, time.Minute, time.Millisecond)
	_, err := jobs.Complete(t.Context(), attempts[0], nil)
	require.NoError(t, err)
	require.NoError(t, <-waits[0], "what this process has changed is told beside the look that hangs")
	_, err = onejob.New(s.SQLiteStore, nil).Complete(t.Context(), attempts[1], nil)
	require.NoError(t, err)
	require.NoError(t, <-waits[1], "another look begins beside the one that hangs")
}

// What hangs is counted for as long as it does, whoever has left meanwhile: or
// clients that come and go would take a connection each.
func TestLooksThatHangDoNotAddUp(t *testing.T) {
	t.Parallel()
	s := &hanging{SQLiteStore: dbtest.SQLite(t), end: make(chan struct{})}
	t.Cleanup(func() { close(s.end) })
	jobs := onejob.New(s, nil)
	job, _, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := jobs.Wait(ctx, "owner-1", job.ID)
			done <- err
		}()
		require.Eventually(t, func() bool { return s.looks.Load() > 0 && serving(jobs) }, time.Minute, time.Millisecond)
		time.Sleep(60 * time.Millisecond) // a look would be due
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Eventually(t, func() bool { return !serving(jobs) }, time.Minute, time.Millisecond)
	}
	require.LessOrEqual(t, s.looks.Load(), int64(3))
}

// hanging is a store whose looks all hang.
type hanging struct {
	*onejob.SQLiteStore
	looks atomic.Int64
	end   chan struct{}
}

func (s *hanging) Settled(context.Context, []onejob.JobID, func() time.Time) ([]onejob.JobID, error) {
	s.looks.Add(1)
	<-s.end
	return nil, nil
}

// Each job that one transaction completes has its own waiters.
func TestAllThatATransactionCompletesAreTold(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		store := newWatched(inner)
		store.blind.Store(true)
		var jobs *onejob.Jobs
		var also onejob.Attempt
		jobs = onejob.New(store, &onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, _ onejob.Job) error {
			_, err := jobs.CompleteTx(ctx, tx, also, nil)
			return err
		}})
		begin := func(key string) (onejob.Attempt, <-chan answered) {
			job, a, err := jobs.Start(t.Context(), intentOf(key), hourTry)
			require.NoError(t, err)
			return a, waitFor(t, jobs, store, job.ID)
		}
		a, first := begin("a")
		b, second := begin("b")
		require.NoError(t, jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := jobs.CompleteTx(ctx, tx, a, nil)
			require.NoError(t, err)
			_, err = jobs.CompleteTx(ctx, tx, b, nil)
			return err
		}))
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-second).err)
		c, third := begin("c")
		var fourth <-chan answered
		also, fourth = begin("d")
		_, err := jobs.Complete(t.Context(), c, nil)
		require.NoError(t, err)
		require.NoError(t, (<-third).err)
		require.NoError(t, (<-fourth).err)
	})
}

// Whoever's patience has ended gets the context's error, whenever that was.
func TestAWaitUnderAnEndedContextSaysSo(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store onejob.Store) {
		jobs := onejob.New(store, nil)
		job, _, err := jobs.Create(t.Context(), intentOf("k"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = jobs.Wait(ctx, "owner-1", job.ID)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, onejob.ErrUnavailable)
	})
}
