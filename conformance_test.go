package onejob_test

import (
	"sync"
	"testing"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/storetest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// addresses remembers where the stores under test keep their data.
var addresses sync.Map // onejob.Store → string

func addressOf(s onejob.Store) string {
	address, _ := addresses.Load(s)
	return address.(string)
}

func TestStoresConform(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*onejob.PostgresOptions{
		"postgres":             nil,
		"postgres, unprepared": {Unprepared: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(t *testing.T, dsn string) onejob.Store {
				store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), opts)
				if err != nil {
					t.Fatal(err)
				}
				addresses.Store(store, dsn)
				return store
			}
			storetest.Run(t, func(t *testing.T) onejob.Store { return open(t, dbtest.PostgresDSN(t)) },
				storetest.Processes(addressOf, open))
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		open := func(t *testing.T, path string) onejob.Store {
			store := dbtest.OpenSQLite(t, path)
			addresses.Store(store, path)
			return store
		}
		storetest.Run(t, func(t *testing.T) onejob.Store { return open(t, dbtest.SQLitePath(t)) },
			storetest.Processes(addressOf, open))
	})
}
