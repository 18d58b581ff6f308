package upgrade_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// There and back again: a migration may add, but what a release wrote is to be
// there afterwards, byte for byte.
func TestAPopulatedDatabaseGoesUpAndDownAndLosesNothing(t *testing.T) {
	t.Parallel()
	onEachRelease(t, func(t *testing.T, r *release) {
		onBoth(t, func(t *testing.T, p place) {
			old := r.on(t, p.address)
			old.does("migrate", worker.Order{})
			first, shape := p.version(t), p.shape(t)
			populatePurged(old)
			populate(old, "one ")
			before := p.dump(t)
			for table, rows := range before {
				require.NotEmpty(t, rows, table)
			}

			store := p.store(t)
			require.NoError(t, store.Migrate(t.Context()))
			require.Equal(t, newest(t, store), p.version(t))
			requireKept(t, before, p.dump(t))
			present := presentOn(t, p.address)
			requireAll(t, present, "one ")
			requireAll(t, old, "one ")
			populate(present, "two ")
			populate(old, "three ")
			useAll(t, store, p)
			p.check(t)

			full := p.dump(t)
			require.NoError(t, store.MigrateTo(t.Context(), first))
			require.Equal(t, first, p.version(t))
			require.Equal(t, shape, p.shape(t), "down is not where up came from")
			requireKept(t, p.dump(t), full) // and all that is gone is in what came later
			for _, round := range []string{"one ", "two ", "three "} {
				requireAll(t, old, round)
				requireAll(t, r.on(t, p.address), round)
			}
			a := presentOn(t, p.address).ask("get", worker.Order{Intent: intent("one won")})
			require.Equal(t, onejob.ErrUnsupported.Error(), a.Refused)
			populate(old, "four ")
			p.check(t)

			require.NoError(t, store.Migrate(t.Context()))
			requireAll(t, present, "four ")
			p.check(t)
		})
	})
}

// requireKept requires that each table of one dump has these rows in the other,
// but for the list of versions.
func requireKept(t *testing.T, few, many map[string][]string) {
	t.Helper()
	few = maps.Clone(few)
	delete(few, "migrations")
	for table, rows := range few {
		require.Equal(t, rows, many[table], table)
	}
}

// useAll writes with everything that the present library has, but decides nothing
// of what is there.
func useAll(t *testing.T, store onejob.Store, p place) {
	t.Helper()
	for _, m := range methods(t, store, p) {
		if m.name != "*onejob.Operator.Reconcile" {
			_ = m.call()
		}
	}
	for table, rows := range p.dump(t) {
		require.NotEmpty(t, rows, "nothing writes to the table "+table)
	}
}
