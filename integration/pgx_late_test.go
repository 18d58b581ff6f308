package integration

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// slowWrites is a connection on a busy machine: pgx reads beside a write that takes
// longer than 15 ms.
type slowWrites struct{ net.Conn }

func (c slowWrites) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(30 * time.Millisecond)
	return n, err
}

// A context that ends just as the answer comes makes that reader's next read time
// out, and without a grace pgx (5.11.0) hands the timeout to whoever gets the
// connection next: of 60 such calls 50 were followed by one under a live context
// that failed. The store then tells ErrUnavailable, rightly, for nothing.
func TestACallOverPgxDoesNotGetTheTimeoutOfTheOneBefore(t *testing.T) {
	config := pgxConfig(t, dbtest.PostgresDSN(t))
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return slowWrites{conn}, err
	}
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	job, _, err := jobs.Create(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"})
	require.NoError(t, err)
	for i := range 30 {
		_, err := jobs.Get(t.Context(), "owner-1", job.ID) // so that it is prepared
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(18+i%15)*time.Millisecond)
		_, _ = jobs.Get(ctx, "owner-1", job.ID) // in time or not
		cancel()
		_, err = jobs.Get(t.Context(), "owner-1", job.ID)
		require.NoError(t, err, "round %d", i)
	}
}

// pgxConfig is what the README says of pgx.
func pgxConfig(t *testing.T, dsn string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	config.BuildContextWatcherHandler = withGrace
	return config
}
