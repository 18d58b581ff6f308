package onejob_test

import (
	"context"
	"database/sql"
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

// Each job that one transaction completes has its own waiters.
func TestAllThatATransactionCompletesAreTold(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		store := &watchedStore{Store: inner}
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
