package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/onejob-go/onejob"
)

// Wrap makes next the attempt at the job. The first request with a key runs it,
// under a context of its own that the client's leaving does not end; its response
// is stored and then sent. Whoever repeats the request gets the stored response,
// or is told that it is still under way, or that its outcome is not known.
//
// A response of 5xx leaves the outcome unknown, and the key blocked, unless the
// handler says [NothingHappened]; a panic does in any case. A response of 4xx is
// stored like any other, but for Options.NoEffect. What the handler streams,
// hijacks or makes larger than Options.MaxResponse goes to the first caller as it
// is; a repeated request is told 410 then.
//
// The job's result is the response in a form of its own: see [Response].
//
// Wrap the handler, inside of routing: a router's redirect is a response too, and
// is stored. What reads the body must be inside of Wrap.
func (l *Layer) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.needsKey(r) || l.isInside(r) {
			next.ServeHTTP(w, r)
			return
		}
		in, raw, ok := l.read(w, r)
		if !ok {
			return
		}
		begin := time.Now()
		job, a, err := l.start(r, in)
		if err != nil {
			l.write(w, r, job, errors.Is(err, onejob.ErrCompleted), true, err)
			return
		}
		// The time that the beginning took is the attempt's too: others take it for
		// overdue by then.
		left := a.Timeout - time.Since(begin)
		if left <= 0 {
			l.neverRan(r, a.ID)
			l.write(w, r, job, false, true, onejob.ErrUnavailable)
			return
		}
		l.run(w, r, next, job, a, raw, left)
	})
}

// isInside reports whether the request has come through this layer already: who
// wraps a router and a route of it means one job. A request with another key,
// which a handler serves within its own, is another job.
func (l *Layer) isInside(r *http.Request) bool {
	id := identityOf(r.Context())
	if id == nil || id.layer != l {
		return false
	}
	key, err := keyOf(r.Header, l.o.Strict)
	return err == nil && key == id.job.Key
}

// run is the handler's turn, and what becomes of it.
func (l *Layer) run(w http.ResponseWriter, r *http.Request, next http.Handler, job onejob.Job, a onejob.Attempt, raw []byte, left time.Duration) {
	ctx, cancel := a.Context(r.Context())
	defer cancel()
	ctx, end := context.WithTimeout(ctx, left)
	defer end()
	ctx, id := withIdentity(ctx, job, a)
	id.layer = l
	own := r.WithContext(ctx)
	own.Body = io.NopCloser(bytes.NewReader(raw))
	own.ContentLength = int64(len(raw))
	rec := newRecorder(w, l.o.MaxResponse)
	returned := false
	defer func() {
		if !returned {
			// A panic goes on, to be logged as the host does.
			_, _ = l.settle(r, a, func(ctx context.Context) (onejob.Job, error) {
				return l.jobs.MarkUnknown(ctx, a, errors.New("the handler panicked"))
			})
		}
	}()
	next.ServeHTTP(rec, own)
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	returned, rec.over = true, true
	l.finish(w, r, rec, id)
}

// finish stores what the handler said, and then says it.
func (l *Layer) finish(w http.ResponseWriter, r *http.Request, rec *recorder, id *identity) {
	a := id.attempt
	nothing := id.nothing.Load()
	if nothing && rec.status < 400 {
		// It went on and did it after all: the response is what counts.
		l.log.Warn("onejob: a handler said that nothing happened, and answered with success", "attempt", string(a.ID))
		nothing = false
	}
	switch {
	case nothing || slices.Contains(l.o.NoEffect, rec.status):
		_, _ = l.settle(r, a, func(ctx context.Context) (onejob.Job, error) {
			return l.jobs.Fail(ctx, a, onejob.NoEffect(fmt.Errorf("the handler answered %d and said that nothing happened", rec.status)))
		})
	case rec.status >= 500:
		_, _ = l.settle(r, a, func(ctx context.Context) (onejob.Job, error) {
			return l.jobs.MarkUnknown(ctx, a, fmt.Errorf("the handler answered %d", rec.status))
		})
	default:
		if job, err := l.complete(r, rec, a); errors.Is(err, onejob.ErrLateResult) || errors.Is(err, onejob.ErrResultMismatch) {
			// Somebody else has ended the job, and this response is not what became
			// of it.
			if !rec.sent {
				l.write(w, r, job, true, true, lateAnswer(job, err))
			}
			return
		}
	}
	if !rec.sent {
		if values := r.Header.Values(keyHeader); len(values) == 1 && len(rec.head[keyHeader]) == 0 {
			rec.head.Set(keyHeader, values[0])
		}
	}
	_ = rec.send(false) // a client that is gone finds the stored response when it asks again
}

// lateAnswer is what is told instead of a response that came too late: the job
// as it stands.
func lateAnswer(job onejob.Job, err error) error {
	switch job.State {
	case onejob.JobCompleted:
		return nil
	case onejob.JobCanceled:
		return onejob.ErrJobCanceled
	}
	return err
}

// complete stores the response, or where it cannot be shown again that there
// was one.
func (l *Layer) complete(r *http.Request, rec *recorder, a onejob.Attempt) (onejob.Job, error) {
	stored := record{Status: rec.status, Header: rec.kept(l.replay), body: rec.body.Bytes()}
	stub := record{Status: max(rec.status, 200), Stub: true}
	if rec.sent {
		stored = stub
	}
	whole, short := stored.encode(), stub.encode()
	return l.settle(r, a, func(ctx context.Context) (onejob.Job, error) {
		job, err := l.jobs.Complete(ctx, a, whole)
		if errors.Is(err, onejob.ErrInvalid) && !stored.Stub {
			job, err = l.jobs.Complete(ctx, a, short) // larger than Options.MaxResult
		}
		return job, err
	})
}
