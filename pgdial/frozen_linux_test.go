package pgdial_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/pgdial"
)

// A machine that has hung acknowledges what is sent to it and never answers.
func TestEveryOperationReturnsFromAFrozenServer(t *testing.T) {
	t.Parallel()
	cluster, err := dbtest.Start("fsync=off", "full_page_writes=off")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	t.Cleanup(func() { _ = cluster.Resume() })
	host := dbtest.OpenPostgres(t, cluster.DSN("postgres"))
	store, err := onejob.NewPostgresStore(host, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	direct := onejob.New(store, nil)
	var scenes []*scene
	for range operations {
		db := open(t, cluster.DSN("postgres"), pgdial.Dialer{Silence: short})
		fill(t, db, pooled)
		scenes = append(scenes, &scene{jobs: jobsOn(t, db)})
	}
	for i, op := range operations {
		scenes[i] = op.prepare(t, op.name, direct, scenes[i].jobs)
	}

	require.NoError(t, cluster.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	errs := make([]error, len(operations))
	var all sync.WaitGroup
	for i, op := range operations {
		all.Go(func() { errs[i] = op.run(ctx, scenes[i]) })
	}
	within(t, "one of the operations", all.Wait)
	require.NoError(t, cluster.Resume())
	for i, op := range operations {
		require.ErrorIs(t, errs[i], onejob.ErrUnavailable, op.name)
		op.settles(t, direct, scenes[i])
	}
	dbtest.Check(t, host, "onejob.")
}
