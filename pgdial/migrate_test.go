package pgdial_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/pgdial"
)

const waitingToMigrate = `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
	WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`

// The documented price of Silence: Migrate waits for its lock without a word.
func TestMigrateThatWaitsLongNeedsAPatientPool(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	direct := dbtest.OpenPostgres(t, dsn)
	lock, err := direct.Begin()
	require.NoError(t, err)
	defer lock.Rollback()
	_, err = lock.Exec("SELECT pg_advisory_xact_lock(hashtextextended('onejob.other', 0))")
	require.NoError(t, err)
	migrate := func(db *sql.DB) error {
		store, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: "other"})
		require.NoError(t, err)
		return store.Migrate(t.Context())
	}
	count := func(query string) (n int) {
		require.NoError(t, direct.QueryRow(query).Scan(&n))
		return n
	}

	within(t, "Migrate on a pool for requests", func() { err = migrate(open(t, dsn, pgdial.Dialer{Silence: short})) })
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.ErrorContains(t, err, "silent for")
	within(t, "Migrate under statement_timeout", func() {
		err = migrate(open(t, dsn+"&statement_timeout=100", pgdial.Dialer{Silence: -1}))
	})
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.NotContains(t, err.Error(), "silent")

	ended := make(chan error, 1)
	patient := open(t, dsn, pgdial.Dialer{Silence: -1})
	before := count(waitingToMigrate)
	go func() { ended <- migrate(patient) }()
	require.Eventually(t, func() bool { return count(waitingToMigrate) > before }, watchdog, 10*time.Millisecond)
	time.Sleep(2 * short)
	require.Empty(t, ended)
	require.Zero(t, count("SELECT count(*) FROM pg_namespace WHERE nspname = 'other'"), "nothing is half done")
	require.NoError(t, lock.Rollback())
	within(t, "Migrate on a patient pool", func() { err = <-ended })
	require.NoError(t, err)
	require.Equal(t, 1, count("SELECT count(*) FROM pg_tables WHERE schemaname = 'other' AND tablename = 'jobs'"))
}
