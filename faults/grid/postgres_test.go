package grid

import (
	"context"
	"database/sql"
	"net/url"
	"sync"
	"testing"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Every operation × every fault on PostgreSQL: the caller is told the truth,
// it is done at most once, and asking again settles it.
func TestEveryOperationOnPostgresTellsTheTruthUnderEveryFault(t *testing.T) {
	t.Parallel()
	g := newGrid(t, "PostgreSQL", postgresFaults())
	g.place, g.turn = postgresPlaces(t, g)
	g.quiet = quietPostgres
	g.run()
	g.finish()
}

// postgresPlaces share one database, but for the operations that work on all
// jobs there are: each has its own, and its runs come one after the other.
func postgresPlaces(t *testing.T, g *grid) (func(*operation) (*place, func(), error), func(*operation) func()) {
	shared, own := postgresPlace(t), map[*operation]*place{}
	for _, op := range g.ops {
		if op.global {
			own[op] = postgresPlace(t)
			own[op].serial = new(sync.Mutex)
		}
	}
	place := func(op *operation) (*place, func(), error) {
		if p := own[op]; p != nil {
			return p, func() {}, nil
		}
		return shared, func() {}, nil
	}
	turn := func(op *operation) func() {
		if p := own[op]; p != nil {
			p.serial.Lock()
			return p.serial.Unlock
		}
		return func() {}
	}
	return place, turn
}

func postgresPlace(t *testing.T) *place {
	dsn := dbtest.PostgresDSN(t)
	db := dbtest.OpenPostgres(t, dsn)
	_, err := db.Exec(createRows)
	require.NoError(t, err)
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	return &place{db: db, store: store, tables: "onejob.", bind: dollar, address: dsn, dir: t.TempDir()}
}

func openPostgres(dsn string, d pq.Dialer) (*sql.DB, *onejob.PostgresStore, error) {
	c, err := pq.NewConnector(dsn)
	if err != nil {
		return nil, nil, err
	}
	c.Dialer(d)
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	store, err := onejob.NewPostgresStore(db, nil)
	return db, store, err
}

// named adds the run's name, by which the server's sessions are known.
func (tr *trial) named(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	q.Set("application_name", tr.name)
	u.RawQuery = q.Encode()
	return u.String()
}

// quietPostgres waits until the server has ended what it still had of the run:
// it may run a statement whose client is long gone.
func quietPostgres(ctx context.Context, tr *trial) error {
	return waitFor(ctx, "the server to end what the run has left there", func() (bool, error) {
		var n int
		err := tr.db.QueryRow(`SELECT count(*) FROM pg_stat_activity
			WHERE application_name = $1 AND state <> 'idle'`, tr.name).Scan(&n)
		return n == 0, err
	})
}
