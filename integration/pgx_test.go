package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/storetest"
)

func pgxStore(t *testing.T, dsn string) (*sql.DB, *onejob.PostgresStore) {
	t.Helper()
	db := stdlib.OpenDB(*pgxConfig(t, dsn))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	return db, store
}

func withGrace(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn(), DeadlineDelay: time.Second}
}

// The kit over pgx: its errors and its types are others than lib/pq's.
func TestTheStoreConformsOverPgx(t *testing.T) {
	storetest.Run(t, func(t *testing.T) onejob.Store {
		_, store := pgxStore(t, dbtest.PostgresDSN(t))
		return store
	})
}

// pgx knows a prepared statement by its text, and takes it also for a statement
// that was not to be prepared.
func TestAStatementThatIsStaleOrGoneIsNoFailureOverPgx(t *testing.T) {
	for name, spoil := range map[string]func(i int) string{
		"everything was thrown away": func(int) string { return "DISCARD ALL" },
		"a migration changed a type": func(i int) string {
			return fmt.Sprintf(`
ALTER TABLE onejob.jobs ALTER COLUMN by TYPE varchar(%[1]d), ALTER COLUMN created_at TYPE timestamptz(%[2]d);
ALTER TABLE onejob.attempts ALTER COLUMN by TYPE varchar(%[1]d), ALTER COLUMN deadline TYPE timestamptz(%[2]d)`, 128+i, 5+i%2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := pgxStore(t, dbtest.PostgresDSN(t))
			db.SetMaxOpenConns(1)
			ran := 0
			jobs := onejob.New(store, &onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
				ran++
				return nil
			}})
			op := onejob.NewOperator(jobs)
			try := onejob.Try{Provider: "primary", Timeout: time.Hour}
			word := onejob.Decision{By: "ada", Reason: "asked the provider"}
			ctx := t.Context()
			in := onejob.Intent{Owner: "owner-1", Kind: "charge"}
			var job onejob.Job
			var a onejob.Attempt
			for round := range 4 {
				in.Key, ran = fmt.Sprint("k", round), 0
				for i, step := range []func() error{
					func() (err error) { job, _, err = jobs.Create(ctx, in); return err },
					func() (err error) { a, err = jobs.BeginAttempt(ctx, job, try); return err },
					func() error { _, err := jobs.MarkUnknown(ctx, a, errors.New("reset")); return err },
					func() error { _, err := op.Refute(ctx, a.ID, word); return err },
					func() (err error) { _, a, err = jobs.Start(ctx, in, try); return err },
					func() error { _, err := jobs.Get(ctx, in.Owner, job.ID); return err },
					func() error { _, err := jobs.Complete(ctx, a, []byte("result")); return err },
					func() error { _, err := jobs.CreateMany(ctx, []onejob.Intent{in}); return err },
				} {
					if round > 0 {
						_, err := db.Exec(spoil(10*round + i))
						require.NoError(t, err)
					}
					require.NoError(t, step(), "round %d, step %d", round, i)
				}
				require.Equal(t, 1, ran)
			}
		})
	}
}
