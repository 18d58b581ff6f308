package idempotency

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/onejob-go/onejob"
)

// storeTime bounds what the store may take for one step of a request.
const storeTime = 10 * time.Second

// start begins the attempt. Where the store's reply is lost it asks once more,
// and then behind the caller's back: an attempt whose handler never ran must not
// block the key.
func (l *Layer) start(r *http.Request, in onejob.Intent) (onejob.Job, onejob.Attempt, error) {
	try := onejob.Try{Provider: l.o.Provider, Timeout: l.o.Timeout}
	job, a, err := l.startOnce(r.Context(), in, try)
	if try.ID = lostAttempt(err); try.ID == "" {
		return job, a, err
	}
	job, a, err = l.startOnce(r.Context(), in, try)
	if id := lostAttempt(err); id != "" {
		l.neverRan(r, id)
	}
	var e *onejob.Error
	if errors.Is(err, onejob.ErrInDoubt) && errors.As(err, &e) && e.Attempt != nil && e.Attempt.ID == try.ID {
		// It is this request's own, and overdue meanwhile.
		l.neverRan(r, try.ID)
		err = onejob.ErrUnavailable
	}
	return job, a, err
}

// lostAttempt is the attempt that may have begun.
func lostAttempt(err error) onejob.AttemptID {
	var e *onejob.Error
	if errors.Is(err, onejob.ErrUnavailable) && errors.As(err, &e) && e.Attempt != nil {
		return e.Attempt.ID
	}
	return ""
}

// neverRan fails an attempt whose handler was not called, if it has begun, as
// soon as the store answers.
func (l *Layer) neverRan(r *http.Request, id onejob.AttemptID) {
	l.behind(r, max(l.o.Timeout, 10*time.Minute), func(ctx context.Context) error {
		// Looked up, not begun: where nothing came of it nothing is left behind.
		_, a, err := l.jobs.GetAttempt(ctx, id)
		if err == nil && a.State.Open() {
			_, err = l.jobs.Fail(ctx, a, onejob.NoEffect(errNeverRan))
		}
		return err
	})
}

var errNeverRan = errors.New("the handler never ran: the store had not answered in time")

func (l *Layer) startOnce(ctx context.Context, in onejob.Intent, try onejob.Try) (onejob.Job, onejob.Attempt, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	return l.jobs.Start(ctx, in, try)
}

// settle writes how the attempt ended, whatever has become of the client. Where
// the store is away the caller does not wait for it: it is tried again until the
// attempt's time is over, for a result in hand is worth that.
func (l *Layer) settle(r *http.Request, a onejob.Attempt, step func(ctx context.Context) (onejob.Job, error)) (onejob.Job, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
	defer cancel()
	job, err := step(ctx)
	if err != nil {
		l.log.Error("onejob: what a handler did was not stored as it said", "attempt", string(a.ID), "error", err.Error())
	}
	if errors.Is(err, onejob.ErrUnavailable) {
		l.behind(r, a.Timeout, func(ctx context.Context) error {
			_, err := step(ctx)
			return err
		})
	}
	return job, err
}

// behind repeats a step until the store answers, at most for so long.
func (l *Layer) behind(r *http.Request, most time.Duration, step func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), most)
	l.late.Add()
	go func() {
		defer l.late.Done()
		defer cancel()
		defer func() {
			// Of OnComplete, say: net/http would have caught it, had the caller waited.
			if recover() != nil {
				l.log.Error("onejob: a panic while a result was stored behind its answer", "stack", string(debug.Stack()))
			}
		}()
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if err := step(ctx); !errors.Is(err, onejob.ErrUnavailable) {
				return
			}
		}
	}()
}

// Wait returns once nothing is left to be written of requests that were answered
// while the store was away. Call it before the process ends, with a ctx that ends.
func (l *Layer) Wait(ctx context.Context) error { return l.late.Wait(ctx) }
