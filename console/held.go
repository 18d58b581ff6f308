package console

import (
	"context"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
)

// held asks the database, and keeps to ctx's deadline whatever the driver does:
// lib/pq waits for a connection that has fallen silent, context or not.
func held[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	value, _, err := hold.Call(ctx, ask, func(T, error) {})
	return value, err
}

// history is a job and its attempts.
type history struct {
	job      onejob.Job
	attempts []onejob.Attempt
}

func (v *view) get(ctx context.Context, id onejob.JobID) (onejob.Job, []onejob.Attempt, error) {
	h, err := held(ctx, func() (h history, err error) {
		h.job, h.attempts, err = v.op.Get(ctx, id)
		return h, err
	})
	return h.job, h.attempts, err
}
