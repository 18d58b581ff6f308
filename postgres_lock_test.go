package onejob_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// locked is a job whose row another session holds, so that what is sent then
// has an older snapshot than the rows it finds behind the lock.
type locked struct {
	*testing.T
	db   *sql.DB
	jobs *onejob.Jobs
	op   *onejob.Operator
	job  onejob.Job
	a    onejob.Attempt
}

func newLocked(t *testing.T) *locked {
	l := &locked{T: t, db: dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))}
	store, err := onejob.NewPostgresStore(l.db, nil)
	require.NoError(t, err)
	l.jobs = onejob.New(store, nil)
	l.op = onejob.NewOperator(l.jobs)
	l.job, l.a, err = l.jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}, lockTry)
	require.NoError(t, err)
	return l
}

var (
	lockTry  = onejob.Try{Provider: "primary", Timeout: time.Hour}
	lockWord = onejob.Decision{By: "ada", Reason: "asked"}
)

// behind sends step while another session holds the job's row, lets that
// session change something once step waits, and waits for step.
func (l *locked) behind(step func() error, change func(tx *sql.Tx)) {
	l.Helper()
	l.behindA(`SELECT 1 FROM onejob.jobs WHERE id = $1 FOR NO KEY UPDATE`, []any{string(l.job.ID)}, step, change)
}

// behindA is behind for a lock of any kind.
func (l *locked) behindA(lock string, args []any, step func() error, change func(tx *sql.Tx)) {
	l.Helper()
	tx, err := l.db.Begin()
	require.NoError(l, err)
	defer tx.Rollback()
	_, err = tx.Exec(lock, args...)
	require.NoError(l, err)
	done := make(chan error, 1)
	go func() { done <- step() }()
	for waiting := false; !waiting; {
		select {
		case err := <-done:
			require.Fail(l, "the step did not wait", "%v", err)
		default:
		}
		require.NoError(l, l.db.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database OR l.database IS NULL
			JOIN pg_stat_activity s USING (pid) WHERE NOT l.granted AND s.datname = current_database() AND d.datname = s.datname)`).Scan(&waiting))
	}
	change(tx)
	require.NoError(l, tx.Commit())
	require.NoError(l, <-done)
}

// successor is the attempt that the other session begins.
func (l *locked) successor(tx *sql.Tx) {
	_, err := tx.Exec(`
		INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline)
		SELECT job_id, 'aaaaaaaaaaaaaaaa', number + 1, 'fallback', 'started', 1, provider_key, timeout, clock_timestamp(),
			clock_timestamp() + interval '1 hour'
		FROM onejob.attempts WHERE job_id = $1`, string(l.job.ID))
	require.NoError(l, err)
}

// What an operator is told must be how the job stands, not how it stood before
// the wait: "nothing is running" would be the wrong word.
func TestAChangeThatWaitedReturnsTheJobAsItStands(t *testing.T) {
	t.Parallel()
	t.Run("CancelJob behind a begin", func(t *testing.T) {
		t.Parallel()
		l := newLocked(t)
		_, err := l.jobs.Fail(t.Context(), l.a, onejob.NoEffect(errors.New("refused")))
		require.NoError(t, err)
		var job onejob.Job
		l.behind(func() (err error) { job, err = l.op.CancelJob(t.Context(), l.job.ID, lockWord); return err }, l.successor)
		require.Equal(t, onejob.JobCanceled, job.State)
		require.NotNil(t, job.Attempt)
		require.Equal(t, "fallback", job.Attempt.Provider)
	})
	t.Run("Fail of a detached attempt behind its successor's begin", func(t *testing.T) {
		t.Parallel()
		l := newLocked(t)
		_, err := l.op.DetachAttempt(t.Context(), l.a.ID, lockWord)
		require.NoError(t, err)
		var job onejob.Job
		l.behind(func() (err error) { job, err = l.jobs.Fail(t.Context(), l.a, errors.New("reset")); return err }, l.successor)
		require.Equal(t, onejob.StatusRunning, job.Status())
		require.Equal(t, "fallback", job.Attempt.Provider)
	})
	t.Run("Fail of a detached attempt behind its successor's completion", func(t *testing.T) {
		t.Parallel()
		l := newLocked(t)
		_, err := l.op.DetachAttempt(t.Context(), l.a.ID, lockWord)
		require.NoError(t, err)
		next, err := l.jobs.BeginAttempt(t.Context(), l.job, lockTry)
		require.NoError(t, err)
		var job onejob.Job
		l.behind(func() (err error) { job, err = l.jobs.Fail(t.Context(), l.a, errors.New("reset")); return err }, func(tx *sql.Tx) {
			_, err := l.jobs.CompleteTx(t.Context(), tx, next, []byte("result"))
			require.NoError(t, err)
		})
		require.Equal(t, onejob.StatusCompleted, job.Status())
		require.Equal(t, next.ID, job.Attempt.ID)
		require.Equal(t, onejob.StateSucceeded, job.Attempt.State)
	})
}

// A provider that is asked again after it has refused must get a new key, or it
// may answer with the refusal it remembers.
func TestABeginThatWaitedForAFailureGetsANewProviderKey(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	_, err := l.op.DetachAttempt(t.Context(), l.a.ID, lockWord)
	require.NoError(t, err)
	var next onejob.Attempt
	l.behind(func() (err error) { next, err = l.jobs.BeginAttempt(t.Context(), l.job, lockTry); return err }, func(tx *sql.Tx) {
		_, err := tx.Exec(`UPDATE onejob.attempts SET state = 'failed', ended_at = clock_timestamp() WHERE job_id = $1`, string(l.job.ID))
		require.NoError(t, err)
	})
	require.NotEqual(t, l.a.ProviderKey, next.ProviderKey)
}

// Behind the lock the attempt may have ended: PostgreSQL checks the row that an
// UPDATE would make of the old one before it finds out that it is stale. The
// store is asked, for Jobs would look again after its error.
func TestACompleteThatWaitedForAnotherOfItsAttempt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"won": nil, "late": onejob.ErrLateResult} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocked(t)
			store, err := onejob.NewPostgresStore(l.db, nil)
			require.NoError(t, err)
			if want != nil {
				_, err := l.op.CancelJob(t.Context(), l.job.ID, lockWord)
				require.NoError(t, err)
			}
			l.behind(func() error {
				_, won, err := store.Complete(t.Context(), onejob.CompleteParams{
					ID: l.a.ID, Version: l.a.JobVersion, Result: []byte("result"), Digest: sha256.Sum256([]byte("result")), Clock: time.Now,
				})
				require.False(t, won)
				return err
			}, func(tx *sql.Tx) {
				_, err := l.jobs.CompleteTx(t.Context(), tx, l.a, []byte("result"))
				require.ErrorIs(t, err, want)
			})
			_, err = l.jobs.Complete(t.Context(), l.a, []byte("result"))
			require.ErrorIs(t, err, want)
		})
	}
}

// The one lock order: whoever waits for the job's row holds no attempt's.
func TestCompleteLocksTheJobBeforeTheAttempt(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	l.behind(func() error { _, err := l.jobs.Complete(t.Context(), l.a, []byte("result")); return err }, func(*sql.Tx) {
		other, err := l.db.Begin()
		require.NoError(t, err)
		defer other.Rollback()
		_, err = other.Exec(`SELECT 1 FROM onejob.attempts WHERE job_id = $1 FOR NO KEY UPDATE NOWAIT`, string(l.job.ID))
		require.NoError(t, err, "Complete holds the attempt while it waits for the job")
	})
}

// The swap must touch no index: that is what the schema is laid out for.
func TestCompleteIsAHeapOnlyUpdate(t *testing.T) {
	t.Parallel()
	l := newLocked(t)
	_, err := l.jobs.Complete(t.Context(), l.a, []byte("result"))
	require.NoError(t, err)
	var updates, hot int
	require.Eventually(t, func() bool { // the server's counters come a little later
		require.NoError(t, l.db.QueryRow(`SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
			WHERE schemaname = 'onejob' AND relname = 'jobs'`).Scan(&updates, &hot))
		return updates > 0
	}, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, updates, hot)
}
