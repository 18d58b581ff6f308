package onejob

import (
	"context"
	"time"
)

// settleBound is how long the library keeps at a step whose caller's context
// has ended.
const settleBound = 10 * time.Second

// detached returns a context of our own that keeps ctx's values: what is
// settled after a timeout must not fail for that same timeout.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleBound)
}

// settling runs a step that is safe to repeat and brings knowledge, such as a
// result: so it is carried out on a context that has already ended, and tried
// once more on one of our own when its answer was lost. A live context is
// used as it is: lib/pq starts a goroutine for each cancelable query, and a
// deadline of our own around the host's would pay for that twice.
func settling[T any](ctx context.Context, step func(ctx context.Context) (T, error)) (T, error) {
	if ctx.Err() == nil {
		v, err := step(ctx)
		if !lost(err) {
			return v, err
		}
	}
	own, cancel := detached(ctx)
	defer cancel()
	return step(own)
}

// deciding is settling for steps that a caller who gave up no longer wants.
func deciding[T any](ctx context.Context, op string, step func(ctx context.Context) (T, error)) (T, error) {
	if err := ended(ctx, op); err != nil {
		var none T
		return none, err
	}
	return settling(ctx, step)
}

// ended refuses a context that has ended, before anything is sent.
func ended(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Err: ErrUnavailable, Cause: err}
	}
	return nil
}
