package upgrade_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// stage is a schema that is older than the present program's.
type stage struct {
	name string
	make func(t *testing.T, p place)
	have int
}

func stages(t *testing.T, r *release) []stage {
	none := stage{"none", func(*testing.T, place) {}, 0}
	half := stage{"the table of versions alone", func(t *testing.T, p place) {
		require.NoError(t, p.store(t).MigrateTo(t.Context(), 1))
		p.exec(t, "DELETE FROM {t}migrations")
	}, 0}
	list := []stage{none, half, {"of release " + r.name, func(t *testing.T, p place) {
		r.on(t, p.address).does("migrate", worker.Order{})
	}, firstVersion}}
	probe, err := onejob.OpenSQLite(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	defer probe.Close()
	for version := 1; version < newest(t, probe); version++ {
		list = append(list, stage{fmt.Sprint("version ", version), func(t *testing.T, p place) {
			require.NoError(t, p.store(t).MigrateTo(t.Context(), version))
		}, version})
	}
	return list
}

// firstVersion is the schema's version of the first release.
const firstVersion = 2

// Whoever is called first at three in the morning must hear what to run, and not
// that a relation does not exist.
func TestEveryOperationRefusesAnOldSchemaAndSaysWhatToRun(t *testing.T) {
	t.Parallel()
	r := releases[0]
	for _, s := range stages(t, r) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, p place) {
				s.make(t, p)
				store := p.store(t)
				before := p.dump(t)
				for _, m := range methods(t, store, p) {
					requireRefusal(t, m, s.have, newest(t, store))
				}
				require.Equal(t, before, p.dump(t), "something was written")
			})
		})
	}
}

func requireRefusal(t *testing.T, m method, have, need int) {
	t.Helper()
	err := m.call()
	if m.name == "*onejob.Operator.Doctor" {
		require.NoError(t, err)
		return // its findings are the point: see below
	}
	require.ErrorIs(t, err, onejob.ErrUnsupported, m.name)
	var e *onejob.Error
	require.ErrorAs(t, err, &e, m.name)
	require.NotEmpty(t, e.Op, m.name)
	require.ErrorContains(t, err, fmt.Sprintf("the schema is at version %d and this program needs %d", have, need), m.name)
	require.ErrorContains(t, err, "run Migrate", m.name)
	require.ErrorContains(t, err, "onejob migrate up", m.name)
}

// Nobody restarts what refused: it goes on when somebody has migrated, in this
// process or in another.
func TestWhatRefusedWorksOnceTheSchemaIsMigrated(t *testing.T) {
	t.Parallel()
	r := releases[0]
	for _, s := range stages(t, r) {
		if s.name == "the table of versions alone" {
			continue // what is there is in the way of what is made: see below
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, p place) {
				s.make(t, p)
				store := p.store(t)
				all := methods(t, store, p)
				for _, m := range all {
					_ = m.call()
				}
				findings, err := onejob.NewOperator(onejob.New(store, nil)).Doctor(t.Context())
				require.NoError(t, err)
				require.Contains(t, fmt.Sprint(findings), "onejob migrate up")
				require.NoError(t, p.store(t).Migrate(t.Context()))
				for _, m := range all {
					err := m.call()
					require.NotErrorIs(t, err, onejob.ErrUnsupported, m.name)
					require.NotErrorIs(t, err, onejob.ErrUnavailable, m.name)
				}
				p.check(t)
			})
		})
	}
}

// Half of a migration can be there only by another's hand: ours is one
// transaction. Migrate must not guess, and must say that it changed nothing.
func TestMigrateSaysThatHalfAMigrationIsInTheWay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		store := p.store(t)
		require.NoError(t, store.MigrateTo(t.Context(), 1))
		p.exec(t, "CREATE TABLE {t}qualifications (half integer)")
		before := p.dump(t)
		err := store.Migrate(t.Context())
		require.ErrorIs(t, err, onejob.ErrUnavailable)
		require.ErrorContains(t, err, "the schema stays at version 1")
		require.Equal(t, before, p.dump(t))
		p.exec(t, "DROP TABLE {t}qualifications")
		require.NoError(t, store.Migrate(t.Context()))
	})
}

// The version says that all is there. It is not: a restore left a table out, or a
// tool was told to skip.
func TestATableThatIsMissingIsNoRawError(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		store := p.store(t)
		require.NoError(t, store.Migrate(t.Context()))
		all := methods(t, store, p)
		p.exec(t, "DROP TABLE {t}qualifications")
		if p.kind == "postgres" {
			p.exec(t, "DROP TABLE {t}jobs, {t}attempts, {t}turns")
		} else {
			p.exec(t, "DROP TABLE {t}attempts")
			p.exec(t, "DROP TABLE {t}jobs")
			p.exec(t, "DROP TABLE {t}turns")
		}
		for _, m := range all {
			if m.name == "*onejob.Operator.Doctor" || m.name == "*onejob.Jobs.Tx" {
				continue // they read no table of these
			}
			err := m.call()
			require.Error(t, err, m.name)
			require.NotContains(t, err.Error(), "no such table", m.name)
			require.NotContains(t, err.Error(), "does not exist", m.name)
			if !m.inHostTx {
				require.ErrorIs(t, err, onejob.ErrUnsupported, m.name)
				require.ErrorContains(t, err, "a table or column of it is missing", m.name)
			}
		}
	})
}

// A program that has been at work all along is in the same place when somebody
// goes back to an earlier version under it.
func TestAProgramThatIsAtWorkRefusesASchemaThatWentBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		store := p.store(t)
		require.NoError(t, store.Migrate(t.Context()))
		all := methods(t, store, p)
		for _, m := range all {
			require.NotErrorIs(t, m.call(), onejob.ErrUnsupported, m.name)
		}
		other := p.store(t)
		require.NoError(t, other.MigrateTo(t.Context(), 0))
		for _, m := range all {
			if !m.inHostTx && m.name != "*onejob.Jobs.Tx" {
				requireRefusal(t, m, 0, newest(t, store))
			}
		}
		for _, m := range all {
			requireRefusal(t, m, 0, newest(t, store))
		}
		require.NoError(t, other.Migrate(t.Context()))
		for _, m := range all {
			require.NotErrorIs(t, m.call(), onejob.ErrUnsupported, m.name)
		}
	})
}

func TestTheMethodsAreFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		store := p.store(t)
		require.NoError(t, store.Migrate(t.Context()))
		names := map[string]bool{}
		for _, m := range methods(t, store, p) {
			names[m.name] = true
			require.NotErrorIs(t, m.call(), onejob.ErrInvalid, m.name)
		}
		for _, name := range []string{
			"*onejob.Jobs.Create", "*onejob.Jobs.CreateMany", "*onejob.Jobs.CompleteTx", "*onejob.Jobs.Tx",
			"*onejob.Operator.Sweep", "*onejob.Operator.Stats", "*onejob.Operator.Qualifications",
		} {
			require.True(t, names[name], name)
		}
		count := reflect.TypeFor[*onejob.Jobs]().NumMethod() + reflect.TypeFor[*onejob.Operator]().NumMethod()
		require.GreaterOrEqual(t, len(names), count)
	})
}
