package onejobtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

var ada = onejob.Decision{By: "ada", Reason: "the provider's books say so"}

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "user-7", Key: key, Kind: "charge", Params: []byte(`{"amount":1200}`)}
}

func try(provider string) onejob.Try {
	return onejob.Try{Provider: provider, Timeout: 10 * time.Second}
}

// start begins a job's first attempt.
func start(t *testing.T, env *onejobtest.Env, key string) (onejob.Job, onejob.Attempt) {
	t.Helper()
	job, a, err := env.Jobs.Start(t.Context(), intent(key), try("primary"))
	require.NoError(t, err)
	return job, a
}

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			env := onejobtest.New(t, nil)
			_, created, err := env.Jobs.Create(t.Context(), intent("the same key"))
			require.NoError(t, err)
			require.True(t, created, "another test's job is here")
		})
	}
}

func TestTheHostsOptionsAreUsed(t *testing.T) {
	t.Parallel()
	errSoldOut := errors.New("sold out")
	env := onejobtest.New(t, &onejob.Options{
		MaxResult:  3,
		OnComplete: func(context.Context, *sql.Tx, onejob.Job) error { return errSoldOut },
	})
	_, a := start(t, env, "k")
	_, err := env.Jobs.Complete(t.Context(), a, []byte("abcd"))
	require.ErrorIs(t, err, onejob.ErrInvalid)
	_, err = env.Jobs.Complete(t.Context(), a, []byte("abc"))
	require.ErrorIs(t, err, errSoldOut)
	_, err = env.Operator.Confirm(t.Context(), a.ID, []byte("abc"), ada)
	require.ErrorIs(t, err, errSoldOut, "the operator has other options")
}

func TestTheHostsTablesAreInTheSameFile(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, &onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO ledger VALUES (?)`, string(job.ID))
		return err
	}})
	_, err := env.DB.Exec(`CREATE TABLE ledger (job TEXT PRIMARY KEY)`)
	require.NoError(t, err)
	job, a := start(t, env, "k")
	_, err = env.Jobs.Complete(t.Context(), a, nil)
	require.NoError(t, err)
	var booked onejob.JobID
	require.NoError(t, env.DB.QueryRow(`SELECT job FROM ledger`).Scan(&booked))
	require.Equal(t, job.ID, booked)
}

func TestAdvanceTurnsAStartedAttemptIntoUnknown(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	_, a := start(t, env, "k")
	stored := func() (state onejob.State) {
		require.NoError(t, env.DB.QueryRow(`SELECT state FROM onejob_attempts`).Scan(&state))
		return state
	}
	began := env.Now()
	env.Advance(10*time.Second - time.Microsecond)
	require.Equal(t, onejob.StateStarted, stored())
	env.Down() // time passes all the same
	env.Advance(time.Microsecond)
	env.Up()
	require.Equal(t, onejob.StateUnknown, stored(), "every reader sees it, but no row says so")
	require.Equal(t, began.Add(10*time.Second), env.Now())

	_, err := env.Jobs.BeginAttempt(t.Context(), onejob.Job{ID: a.JobID, Intent: intent("k")}, try("fallback"))
	require.ErrorIs(t, err, onejob.ErrInDoubt)
	env.Advance(1000 * time.Hour)
	_, err = env.Jobs.BeginAttempt(t.Context(), onejob.Job{ID: a.JobID, Intent: intent("k")}, try("fallback"))
	require.ErrorIs(t, err, onejob.ErrInDoubt, "time alone ended a doubt")
}

// A service that makes its own Jobs has options of its own, and may not know
// of a clock at all.
func TestJobsOfTheHostsOwnSeeTheTestsClock(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	jobs := onejob.New(env.Store, &onejob.Options{Now: func() time.Time { return time.Unix(0, 0) }})
	env.Advance(time.Hour)
	job, _, err := jobs.Create(t.Context(), intent("k"))
	require.NoError(t, err)
	require.True(t, job.CreatedAt.Equal(env.Now()), "%v", job.CreatedAt)
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		f := &fakeT{TB: b}
		onejobtest.New(f, nil)
		f.end()
	}
}
