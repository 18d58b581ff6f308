package onejob_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// broken is a store whose own statement breaks a constraint.
type broken struct{ onejob.Store }

type stateError string

func (e stateError) Error() string    { return string(e) }
func (e stateError) SQLState() string { return string(e) }

func (s broken) Complete(context.Context, onejob.CompleteParams) (onejob.Record, bool, error) {
	return onejob.Record{}, false, stateError("23514")
}

// A constraint is the host's only once the host has written: a fault of the
// library's own was told as a refusal of OnComplete, which never ran.
func TestABrokenStatementIsNotBlamedOnOnComplete(t *testing.T) {
	t.Parallel()
	jobs := onejob.New(broken{dbtest.SQLite(t)}, &onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
		t.Error("it ran")
		return nil
	}})
	_, a, err := jobs.Start(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"}, onejob.Try{Provider: "p", Timeout: time.Hour})
	require.NoError(t, err)
	_, err = jobs.Complete(t.Context(), a, nil)
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.NotContains(t, err.Error(), "OnComplete")
}
