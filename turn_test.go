package onejob_test

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// clockedOperator is an operator of a process whose clock is off by so much.
func clockedOperator(store onejob.Store, off *atomic.Int64) *onejob.Operator {
	return onejob.NewOperator(onejob.New(store, &onejob.Options{Now: func() time.Time {
		return time.Now().Add(time.Duration(off.Load()))
	}}))
}

func requireTurn(t *testing.T, op *onejob.Operator, holder string, d time.Duration, want bool, why string) {
	t.Helper()
	taken, err := op.TakeTurn(t.Context(), "purge", holder, d)
	require.NoError(t, err)
	require.Equal(t, want, taken, why)
}

func TestATurnGoesByTheClockOfTheStore(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		var ahead atomic.Int64
		ahead.Store(int64(1000 * time.Hour))
		store := postgresOn(t, dbtest.OpenPostgres(t, dbtest.PostgresDSN(t)), nil)
		requireTurn(t, clockedOperator(store, new(atomic.Int64)), "a", time.Hour, true, "it is free")
		requireTurn(t, clockedOperator(store, &ahead), "b", time.Hour, false, "the server's clock counts")
		requireTurn(t, clockedOperator(store, &ahead), "a", time.Microsecond, true, "it is still a's")
		for begin := time.Now(); ; {
			taken, err := clockedOperator(store, new(atomic.Int64)).TakeTurn(t.Context(), "purge", "b", time.Hour)
			require.NoError(t, err)
			if taken {
				break
			}
			require.Less(t, time.Since(begin), time.Minute, "the host's clock counts")
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		var off atomic.Int64
		op := clockedOperator(dbtest.SQLite(t), &off)
		requireTurn(t, op, "a", time.Hour, true, "it is free")
		off.Store(int64(time.Hour - time.Minute))
		requireTurn(t, op, "b", time.Hour, false, "it has a minute left")
		off.Store(int64(time.Hour))
		requireTurn(t, op, "b", time.Hour, true, "it is over")
		requireTurn(t, op, "a", time.Hour, false, "it is b's")
	})
}

// A clock that ran ahead for a while, and was set right, must not leave a turn
// behind that nobody gets for years.
func TestATurnThatWasTakenInTheFutureIsFree(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		op := clockedOperator(postgresOn(t, db, nil), new(atomic.Int64))
		requireTurn(t, op, "a", time.Hour, true, "it is free")
		_, err := db.Exec(`UPDATE onejob.turns SET taken_at = taken_at + interval '10 years', until = until + interval '10 years'`)
		require.NoError(t, err)
		requireTurn(t, op, "b", time.Hour, true, "it was taken in the future")
		requireTurn(t, op, "a", time.Hour, false, "it is b's")
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		var off atomic.Int64
		op := clockedOperator(dbtest.SQLite(t), &off)
		off.Store(int64(100_000 * time.Hour))
		requireTurn(t, op, "a", time.Hour, true, "it is free")
		off.Store(0)
		requireTurn(t, op, "b", time.Hour, true, "it was taken in the future")
		requireTurn(t, op, "a", time.Hour, false, "it is b's")
	})
}

// However large the fleet, those whose turn it is not leave no dead rows and
// wait for nobody.
func TestWhoIsRefusedATurnTouchesNothing(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		op := clockedOperator(postgresOn(t, db, nil), new(atomic.Int64))
		requireTurn(t, op, "a", time.Hour, true, "it is free")
		row := func(q interface {
			QueryRow(query string, args ...any) *sql.Row
		}) (row string) {
			require.NoError(t, q.QueryRow(`SELECT concat_ws(' ', ctid, xmin, xmax, holder, taken_at, until) FROM onejob.turns`).Scan(&row))
			return row
		}
		before := row(db)
		requireTurn(t, op, "b", 2*time.Hour, false, "it is a's")
		require.Equal(t, before, row(db))

		tx, err := db.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Exec(`SELECT 1 FROM onejob.turns FOR UPDATE`)
		require.NoError(t, err)
		requireTurn(t, op, "b", 2*time.Hour, false, "it does not wait for the row")
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := dbtest.SQLitePath(t)
		op := clockedOperator(dbtest.OpenSQLite(t, path), new(atomic.Int64))
		requireTurn(t, op, "a", time.Hour, true, "it is free")
		other := litePool(t, path, "busy_timeout(5000)")
		tx, err := other.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Exec(`UPDATE onejob_turns SET holder = holder`)
		require.NoError(t, err)
		requireTurn(t, op, "b", 2*time.Hour, false, "it does not wait for the process that writes")
	})
}

// A host's default isolation must not turn a lost race into an error.
func TestTurnsAreGivenUnderAnyIsolation(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		for _, isolation := range []string{"repeatable read", "serializable"} {
			dsn := withSetting(t, dbtest.PostgresDSN(t), "default_transaction_isolation", isolation)
			op := clockedOperator(postgresOn(t, dbtest.OpenPostgres(t, dsn), nil), new(atomic.Int64))
			for round := range 20 {
				var got atomic.Int64
				var group sync.WaitGroup
				for i := range 8 {
					group.Go(func() {
						taken, err := op.TakeTurn(t.Context(), fmt.Sprint(round), fmt.Sprint(i), time.Hour)
						if err != nil {
							t.Errorf("%s: %v", isolation, err)
						}
						if taken {
							got.Add(1)
						}
					})
				}
				group.Wait()
				require.Equal(t, int64(1), got.Load())
			}
		}
	})
}
