package standby

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: owner, Key: key, Kind: "charge"}
}

// The documented limit. What the standby did not have yet is forgotten, and a
// repeat of the same intent is taken for a new one: it executes twice.
func TestAnAsynchronousStandbyForgetsWhatItDidNotHave(t *testing.T) {
	t.Parallel()
	p := start(t)
	jobs := jobsOn(t, pool(t, p.dsn()))
	kept, _, err := jobs.Create(t.Context(), intent("kept"))
	require.NoError(t, err)
	require.NoError(t, p.standby.Await("SELECT count(*) = 1 FROM onejob.jobs"))
	p.cutOff(t)

	_, a, err := jobs.Start(t.Context(), intent("lost"), onejob.Try{Provider: "acme", Timeout: time.Hour})
	require.NoError(t, err)
	lost, err := jobs.Complete(t.Context(), a, []byte("charged"))
	require.NoError(t, err, "it is acknowledged")
	require.Equal(t, onejob.StatusCompleted, lost.Status())
	p.failOver(t)

	again, created, err := create(t, jobs, "kept")
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, kept.ID, again.ID)
	again, created, err = create(t, jobs, "lost")
	require.NoError(t, err)
	require.True(t, created, "a second job for the same intent")
	require.NotEqual(t, lost.ID, again.ID)
	require.Equal(t, onejob.StatusPending, again.Status())
	b, err := jobs.BeginAttempt(t.Context(), again, onejob.Try{Provider: "acme", Timeout: time.Hour})
	require.NoError(t, err)
	require.NotEqual(t, a.ProviderKey, b.ProviderKey, "nor does the provider recognize it")
	_, _, err = jobs.GetAttempt(t.Context(), a.ID)
	require.ErrorIs(t, err, onejob.ErrNotFound, "nobody knows of the first execution")
}

// create asks again while the pool throws away its dead connections.
func create(t *testing.T, jobs *onejob.Jobs, key string) (job onejob.Job, created bool, err error) {
	t.Helper()
	for range hands {
		if job, created, err = jobs.Create(t.Context(), intent(key)); err == nil {
			break
		}
	}
	return job, created, err
}

// The limit of a synchronous standby. PostgreSQL commits before it waits for the
// standby, and a wait that is canceled leaves the commit as it is: it shows, and
// is acknowledged, though the standby does not have it. lib/pq cancels when a
// context ends.
func TestACanceledWaitForTheStandbyLeavesACommitItDoesNotHave(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.synchronous(t)
	jobs := jobsOn(t, pool(t, p.dsn()))
	_, _, err := jobs.Create(t.Context(), intent("kept"))
	require.NoError(t, err)
	p.cutOff(t)

	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, _, err = jobs.Create(ctx, intent("canceled"))
	t.Logf("the canceled Create: %v", err)
	seen, err := jobs.GetByKey(t.Context(), owner, "canceled")
	require.NoError(t, err, "a read answers as if all were well")
	p.failOver(t)

	again, created, err := create(t, jobs, "canceled")
	require.NoError(t, err)
	require.True(t, created)
	require.NotEqual(t, seen.ID, again.ID)
}

// Nor does it show before that: whoever waits is not told, and nobody reads it.
func TestACommitThatWaitsForTheStandbyDoesNotShow(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.synchronous(t)
	jobs := jobsOn(t, pool(t, p.dsn()))
	_, _, err := jobs.Create(t.Context(), intent("kept"))
	require.NoError(t, err)
	p.cutOff(t)
	ended := make(chan error, 1)
	go func() {
		_, _, err := jobs.Create(context.Background(), intent("waits"))
		ended <- err
	}()
	require.NoError(t, p.primary.Await("SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
	_, err = jobs.GetByKey(t.Context(), owner, "waits")
	require.ErrorIs(t, err, onejob.ErrNotFound)
	require.Empty(t, ended)
	p.failOver(t)
	<-ended // whatever it says, it was not acknowledged before

	_, created, err := create(t, jobs, "kept")
	require.NoError(t, err)
	require.False(t, created)
	dbtest.Check(t, dbtest.OpenPostgres(t, p.primary.DSN("postgres")), "onejob.")
}

// A primary that starts again while its standby is away shows commits that were
// still waiting: they are acknowledged by whoever reads them.
func TestARestartedPrimaryShowsWhatItsStandbyDoesNotHave(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.synchronous(t)
	jobs := jobsOn(t, pool(t, p.dsn()))
	_, _, err := jobs.Create(t.Context(), intent("kept"))
	require.NoError(t, err)
	p.cutOff(t)
	ended := make(chan error, 1)
	go func() {
		_, _, err := jobs.Create(context.Background(), intent("waits"))
		ended <- err
	}()
	require.NoError(t, p.primary.Await("SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
	require.NoError(t, p.primary.Kill())
	require.NoError(t, p.primary.Boot())
	<-ended
	seen, err := jobsOn(t, pool(t, p.primary.DSN("postgres"))).GetByKey(t.Context(), owner, "waits")
	require.NoError(t, err)
	p.failOver(t)

	again, created, err := create(t, jobs, "waits")
	require.NoError(t, err)
	require.True(t, created)
	require.NotEqual(t, seen.ID, again.ID)
}
