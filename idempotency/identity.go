package idempotency

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/onejob-go/onejob"
)

// identity is what a handler's context carries.
type identity struct {
	job     onejob.Job
	attempt onejob.Attempt
	nothing atomic.Bool
	layer   *Layer // whose handler it is; nil: a worker's
}

type identityKey struct{}

func withIdentity(ctx context.Context, job onejob.Job, a onejob.Attempt) (context.Context, *identity) {
	id := &identity{job: job, attempt: a}
	return context.WithValue(ctx, identityKey{}, id), id
}

func identityOf(ctx context.Context) *identity {
	id, _ := ctx.Value(identityKey{}).(*identity)
	return id
}

// WithAttempt returns a context that carries the job and its attempt, for
// workers: [JobFrom], [AttemptFrom], [LogHandler] and [Transport] find them.
func WithAttempt(ctx context.Context, job onejob.Job, a onejob.Attempt) context.Context {
	ctx, _ = withIdentity(ctx, job, a)
	return ctx
}

// JobFrom is the job of a handler in Wrap mode, or of a worker.
func JobFrom(ctx context.Context) (onejob.Job, bool) {
	if id := identityOf(ctx); id != nil {
		return id.job, true
	}
	return onejob.Job{}, false
}

// AttemptFrom is the attempt that the handler, or the worker, is.
func AttemptFrom(ctx context.Context) (onejob.Attempt, bool) {
	if id := identityOf(ctx); id != nil && id.attempt.ID != "" {
		return id.attempt, true
	}
	return onejob.Attempt{}, false
}

// NothingHappened is how a handler in [Layer.Wrap] says that it had no effect,
// before it returns: its response, of 400 or above, goes to this caller alone, and
// a repeated request runs the handler again, up to onejob.Options.MaxAttempts
// times. With a response below 400 it is not believed, and logged. Elsewhere it
// does nothing. SAY IT ONLY WHEN IT IS CERTAIN: a provider that was called may
// have acted.
func NothingHappened(ctx context.Context) {
	if id := identityOf(ctx); id != nil {
		id.nothing.Store(true)
	}
}

// LogHandler returns h with the IDs of the context's job and attempt on each
// line, as "job" and "attempt". Keys and owners are never logged.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := identityOf(ctx); id != nil {
		r = r.Clone()
		r.AddAttrs(slog.String("job", string(id.job.ID)))
		if id.attempt.ID != "" {
			r.AddAttrs(slog.String("attempt", string(id.attempt.ID)))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
