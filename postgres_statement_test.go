package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// taken are names that lib/pq would give its statements.
func taken() (all string) {
	for i := range 50 {
		all += fmt.Sprintf("PREPARE %q AS SELECT 1; ", fmt.Sprint(i))
	}
	return all
}

// retype is what a migration may do to tables that are in use.
const retype = `
ALTER TABLE onejob.jobs ALTER COLUMN by TYPE varchar(%[1]d), ALTER COLUMN created_at TYPE timestamptz(%[2]d);
ALTER TABLE onejob.attempts ALTER COLUMN by TYPE varchar(%[1]d), ALTER COLUMN deadline TYPE timestamptz(%[2]d)`

// Behind a pooler, or after DISCARD ALL, a connection does not know the
// statements that database/sql believes to be prepared on it.
func TestAPreparedStatementThatIsGoneIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]struct{ before, step string }{
		"the connection has lost it": {"", "DEALLOCATE ALL"},
		"everything was thrown away": {"", "DISCARD ALL"},
		"another has taken its name": {taken(), ""},
		"a migration changed a type": {"", retype},
	} {
		for _, hook := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
				db.SetMaxOpenConns(1)
				store := postgresOn(t, db, nil)
				_, err := db.Exec(spoil.before)
				require.NoError(t, err)
				var opts onejob.Options
				ran := 0
				if hook {
					opts.OnComplete = func(ctx context.Context, tx *sql.Tx, _ onejob.Job) error {
						ran++
						return nil
					}
				}
				jobs := onejob.New(store, &opts)
				op := onejob.NewOperator(jobs)
				in := onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"}
				try := onejob.Try{Provider: "primary", Timeout: time.Hour}
				var job onejob.Job
				var a onejob.Attempt
				for _, warm := range []bool{true, false} {
					if !warm {
						in.Key = "next"
						ran = 0
					}
					for i, step := range []func() error{
						func() (err error) { job, _, err = jobs.Create(t.Context(), in); return err },
						func() (err error) { a, err = jobs.BeginAttempt(t.Context(), job, try); return err },
						func() error { return first(jobs.Extend(t.Context(), a, 2*time.Hour)) },
						func() error { return first(jobs.MarkUnknown(t.Context(), a, errors.New("reset"))) },
						func() error { return first(op.Refute(t.Context(), a.ID, lockWord)) },
						func() (err error) { _, a, err = jobs.Start(t.Context(), in, try); return err },
						func() error { return first(jobs.Get(t.Context(), in.Owner, job.ID)) },
						func() error { return first(jobs.Complete(t.Context(), a, []byte("result"))) },
						func() error { return first(jobs.CreateMany(t.Context(), []onejob.Intent{in})) },
					} {
						if !warm {
							step := spoil.step
							if step == retype {
								step = fmt.Sprintf(retype, 128+i, 5+i%2) // another type each time
							}
							_, err := db.Exec(step)
							require.NoError(t, err)
						}
						require.NoError(t, step(), "%d", i)
					}
				}
				if hook {
					require.Equal(t, 1, ran)
				}
				if spoil.step == retype {
					require.NotContains(t, examine(t, store), "prepared statements")
				} else {
					requireSymptom(t, examine(t, store), symptom{"prepared statements", "", true})
				}
			})
		}
	}
}
