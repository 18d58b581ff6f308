package onejob_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A generator of IDs that is broken is found out before anything is written.
func TestMalformedIDsAreRefused(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		v := newVault(t, store)
		job, _, err := v.jobs.Create(t.Context(), v.intent())
		require.NoError(t, err)
		for _, id := range []string{
			"", canary, "0", "00000000000000000000000000000000", "0198C0DE-0000-7000-8000-000000000000",
			"{0198c0de-0000-7000-8000-000000000000}", "urn:uuid:0198c0de-0000-7000-8000-000000000000",
			"0198c0de-0000-7000-8000-00000000000", "0198c0de-0000-7000-8000-0000000000000", "0198c0de-0000-7000-8000-00000000000g",
			"0198c0de-0000-7000-8000-00000000000'", "0198c0de_0000-7000-8000-000000000000", "0198c0de-0000-7000-8000-000000000000 ",
			" 0198c0de-0000-7000-8000-00000000000", "0198c0de-0000-7000-8000-0000000000\x00\x00",
		} {
			v.use(onejob.Options{NewID: func() string { return id }})
			in := v.intent()
			_, _, startErr := v.jobs.Start(t.Context(), in, vaultTry)
			for op, err := range map[string]error{
				"Create":       errOf3(v.jobs.Create(t.Context(), in)),
				"BeginAttempt": errOf2(v.jobs.BeginAttempt(t.Context(), job, vaultTry)),
				"Start":        startErr,
			} {
				require.ErrorIs(t, err, onejob.ErrInvalid, "%s %q", op, id)
				e := requireSilent(t, op, err)
				require.Equal(t, "Options.NewID", e.Field)
			}
			_, err := v.jobs.GetByKey(t.Context(), in.Owner, in.Key)
			require.ErrorIs(t, err, onejob.ErrNotFound, "nothing was written")
		}
		list, err := v.jobs.Attempts(t.Context(), job.Owner, job.ID)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
	})
}

// A generator that repeats itself must not hand one intent the job of another:
// that would be another user's result.
func TestARepeatedIDGivesNoOneAnothersJob(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		const id = "0198c0de-0000-7000-8000-0123456789ab"
		v := newVault(t, store)
		v.use(onejob.Options{NewID: func() string { return id }})
		in, first, a := v.start()
		require.Equal(t, onejob.JobID(id), first.ID)

		for name, run := range map[string]func(in onejob.Intent) (onejob.Job, error){
			"Create": func(in onejob.Intent) (onejob.Job, error) {
				job, created, err := v.jobs.Create(t.Context(), in)
				require.False(t, created)
				return job, err
			},
			"Start": func(in onejob.Intent) (onejob.Job, error) {
				job, a, err := v.jobs.Start(t.Context(), in, vaultTry)
				require.Zero(t, a)
				return job, err
			},
			"CreateTx": func(in onejob.Intent) (job onejob.Job, err error) {
				err = v.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					job, _, err = v.jobs.CreateTx(ctx, tx, in)
					return err
				})
				return job, err
			},
			"Do": func(in onejob.Intent) (onejob.Job, error) {
				return v.jobs.Do(t.Context(), in, vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
					t.Error("a provider was called for another's job")
					return nil, nil
				})
			},
		} {
			other := v.intent()
			job, err := run(other)
			require.Error(t, err, name)
			requireSilent(t, name, err)
			require.Zero(t, job.ID, name)
			_, err = v.jobs.GetByKey(t.Context(), other.Owner, other.Key)
			require.ErrorIs(t, err, onejob.ErrNotFound, name)
		}
		again, _, err := v.jobs.Create(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)

		// An attempt's ID that is repeated within its job ends like a repeated
		// call: told of the one that there is, never a second one.
		must(v, first, errOf2(v.jobs.Fail(t.Context(), a, onejob.NoEffect(errSecret))))
		_, err = v.jobs.BeginAttempt(t.Context(), first, vaultTry)
		require.ErrorIs(t, err, onejob.ErrAttemptEnded)
		requireSilent(t, "BeginAttempt", err)
		list, err := v.jobs.Attempts(t.Context(), in.Owner, first.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
	})
}
