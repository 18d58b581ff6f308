package onejob_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Behind a pooler in transaction mode, a statement that lib/pq sends in two
// round trips outside of a transaction may be bound to another client's: then
// one caller's arguments run with another caller's SQL. Unprepared must never
// send one.
func TestUnpreparedParsesWithinTransactionsOnly(t *testing.T) {
	t.Parallel()
	wire := dbtest.NewWire(t, dbtest.PostgresDSN(t))
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, wire.DSN), &onejob.PostgresOptions{Unprepared: true})
	require.NoError(t, err)
	ctx := t.Context()
	require.NoError(t, store.Migrate(ctx))
	jobs := onejob.New(store, nil)
	op := onejob.NewOperator(jobs)
	try := onejob.Try{Provider: "primary", Timeout: time.Hour}
	in := onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}

	job, created, err := jobs.Create(ctx, in)
	require.NoError(t, err)
	require.True(t, created)
	a, err := jobs.BeginAttempt(ctx, job, try)
	require.NoError(t, err)
	_, err = jobs.Extend(ctx, a, 2*time.Hour)
	require.NoError(t, err)
	_, err = jobs.Fail(ctx, a, errors.New("reset"))
	require.NoError(t, err)
	_, err = op.DetachAttempt(ctx, a.ID, lockWord)
	require.NoError(t, err)
	_, next, err := jobs.Start(ctx, in, try)
	require.NoError(t, err)
	_, err = jobs.Complete(ctx, next, []byte("result"))
	require.NoError(t, err)
	_, err = jobs.Complete(ctx, a, []byte("late"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	_, err = jobs.GetByKey(ctx, in.Owner, in.Key)
	require.NoError(t, err)
	for _, err := range op.Attempts(ctx, onejob.Filter{Late: true}) {
		require.NoError(t, err)
	}
	_, err = op.Sweep(ctx, 10)
	require.NoError(t, err)
	_, err = op.Stats(ctx)
	require.NoError(t, err)
	_, err = op.Doctor(ctx)
	require.NoError(t, err)
	_, err = op.Purge(ctx, onejob.Retention{Payloads: time.Hour, Tombstones: time.Hour}, 10)
	require.NoError(t, err)

	require.Positive(t, wire.ParsedWithin())
	require.Zero(t, wire.ParsedOutside(), "statements with arguments outside of a transaction")
}
