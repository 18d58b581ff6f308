package standby

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/pgdial"
)

// standbyName is the application_name of every standby here.
const standbyName = "second"

// pair is a primary and its standby.
type pair struct{ primary, standby *dbtest.Cluster }

// start makes a migrated primary with a standby, which is asynchronous.
func start(t *testing.T) *pair {
	t.Helper()
	primary, err := dbtest.Start("fsync=off")
	require.NoError(t, err)
	p := &pair{primary: primary}
	t.Cleanup(func() {
		for _, c := range []*dbtest.Cluster{p.standby, p.primary} { // the primary would wait for the standby
			if c != nil {
				require.NoError(t, c.Stop())
			}
		}
	})
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, primary.DSN("postgres")), nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	p.join(t)
	return p
}

// join gives the primary a new standby.
func (p *pair) join(t *testing.T) {
	t.Helper()
	var err error
	p.standby, err = p.primary.Standby(standbyName)
	require.NoError(t, err)
}

// synchronous has the primary's commits wait for the standby.
func (p *pair) synchronous(t *testing.T) {
	t.Helper()
	require.NoError(t, p.primary.Set("synchronous_standby_names", standbyName))
	require.NoError(t, p.primary.Await("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))
}

// cutOff ends the replication, which the primary need not notice at once.
func (p *pair) cutOff(t *testing.T) {
	t.Helper()
	require.NoError(t, p.standby.Set("primary_conninfo", ""))
	require.NoError(t, p.standby.Await("SELECT count(*) = 0 FROM pg_stat_wal_receiver"))
}

// failOver kills the primary and promotes the standby. There is none then.
func (p *pair) failOver(t *testing.T) {
	t.Helper()
	require.NoError(t, p.primary.Kill())
	require.NoError(t, p.standby.Promote())
	require.NoError(t, p.primary.Stop())
	p.primary, p.standby = p.standby, nil
}

// dsn names both servers; the clients find the one that takes writes.
func (p *pair) dsn() string {
	return fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=onejob dbname=postgres sslmode=disable "+
		"target_session_attrs=read-write connect_timeout=5", p.primary.Port, p.standby.Port)
}

// pool is a host's.
func pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	connector, err := pq.NewConnector(dsn)
	require.NoError(t, err)
	connector.Dialer(pgdial.Dialer{Silence: 20 * time.Second})
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(hands)
	db.SetMaxIdleConns(hands)
	t.Cleanup(func() { db.Close() })
	return db
}

func jobsOn(t testing.TB, db *sql.DB) *onejob.Jobs {
	t.Helper()
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	return onejob.New(store, nil)
}

func TestMain(m *testing.M) { os.Exit(m.Run()) }
