package onejob_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestSmoke(t *testing.T) {
	for name, st := range map[string]func(t *testing.T) onejob.Store{
		"postgres": func(t *testing.T) onejob.Store { return dbtest.Postgres(t) },
		"sqlite":   func(t *testing.T) onejob.Store { return dbtest.SQLite(t) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			jobs := onejob.New(st(t), nil)
			in := onejob.Intent{Owner: "o", Key: "k", Kind: "charge", Params: []byte(`{"a":1}`)}
			job, created, err := jobs.Create(ctx, in)
			require.NoError(t, err)
			require.True(t, created)
			job2, created, err := jobs.Create(ctx, in)
			require.NoError(t, err)
			require.False(t, created)
			require.Equal(t, job, job2)
			a, err := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "p", Timeout: time.Minute})
			require.NoError(t, err)
			fmt.Println(a)
			_, err = jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "p", Timeout: time.Minute})
			require.ErrorIs(t, err, onejob.ErrAttemptOpen)
			fmt.Println(err)
			j, err := jobs.Complete(ctx, a, []byte("yes"))
			require.NoError(t, err)
			fmt.Println(j)
			j2, err := jobs.Complete(ctx, a, []byte("yes"))
			require.NoError(t, err)
			require.Equal(t, j, j2)
			_, err = jobs.Complete(ctx, a, []byte("no"))
			require.ErrorIs(t, err, onejob.ErrResultMismatch)
			in.Key = "k2"
			j, a, err = jobs.Start(ctx, in, onejob.Try{Provider: "p", Timeout: time.Minute})
			require.NoError(t, err)
			fmt.Println(j, a)
			j, err = jobs.Fail(ctx, a, context.DeadlineExceeded)
			require.NoError(t, err)
			require.Equal(t, onejob.StatusUnknown, j.Status())
			op := onejob.NewOperator(jobs)
			for e, err := range op.Attempts(ctx, onejob.Filter{}) {
				require.NoError(t, err)
				fmt.Println(e)
			}
			j, err = op.Refute(ctx, a.ID, onejob.Decision{By: "me", Reason: "asked"})
			require.NoError(t, err)
			require.Equal(t, onejob.StatusPending, j.Status())
			_, err = op.Sweep(ctx, 10)
			require.NoError(t, err)
			_, err = op.Purge(ctx, onejob.Retention{Payloads: time.Nanosecond, Tombstones: time.Nanosecond}, 10)
			require.NoError(t, err)
			s, err := op.Stats(ctx)
			require.NoError(t, err)
			fmt.Printf("%+v\n", s)
			f, err := op.Doctor(ctx)
			require.NoError(t, err)
			fmt.Printf("%+v\n", f)
		})
	}
}
