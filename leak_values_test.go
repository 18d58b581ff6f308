package onejob_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// What a host holds in its hands may be logged whole.
func TestNoValueShowsASecret(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		v := newVault(t, store)
		in, running, a := v.start()
		must(v, a, errOf2(v.jobs.SetExternalRef(t.Context(), a, canary+"-ref")))
		must(v, a, errOf2(v.jobs.MarkUnknown(t.Context(), a, errSecret)))
		_, done, winner := v.completed()
		unknown, a, err := v.jobs.GetAttempt(t.Context(), a.ID)
		require.NoError(t, err)
		canceled, _, err := v.jobs.Create(t.Context(), v.intent())
		require.NoError(t, err)
		canceled, err = v.op.CancelJob(t.Context(), canceled.ID, vaultWord)
		require.NoError(t, err)
		require.Equal(t, secretResult, done.Result)
		require.NotEmpty(t, a.Cause)

		for _, value := range []any{in, &in, running, &running, done, &done, unknown, canceled, a, &a, winner} {
			requireHidden(t, fmt.Sprintf("%T", value), value)
			requireUnlogged(t, fmt.Sprintf("%T", value), value)
		}
		requireHidden(t, "slice", []onejob.Job{running, done, unknown, canceled})
		requireHidden(t, "slice", []onejob.Attempt{a, winner})
		requireHidden(t, "map", map[string]onejob.Job{"job": done})
		requireHidden(t, "struct", struct {
			Job     onejob.Job
			Attempt *onejob.Attempt
			Intent  onejob.Intent
		}{done, &a, in})
		entries := 0
		for e, err := range v.op.Attempts(t.Context(), onejob.Filter{States: []onejob.State{a.State, onejob.StateSucceeded}}) {
			require.NoError(t, err)
			requireHidden(t, "Entry", e)
			requireHidden(t, "Entry", &e)
			requireUnlogged(t, "Entry", e, &e)
			entries++
		}
		require.Equal(t, 2, entries)
		// Hidden does not mean useless.
		require.Contains(t, done.String(), string(done.ID))
		require.Contains(t, done.String(), fmt.Sprintf("result_size=%d", len(secretResult)))
		require.Contains(t, a.String(), string(a.ID))
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
