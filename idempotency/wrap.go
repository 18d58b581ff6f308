package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/onejob-go/onejob"
)

// Wrap makes next the attempt at the job. The first request with a key runs it,
// under a context of its own that the client's leaving does not end; its response
// is stored and then sent. Whoever repeats the request gets the stored response,
// or is told that it is still under way, or that its outcome is not known.
//
// A response of 5xx leaves the outcome unknown, and the key blocked, unless the
// handler says [NothingHappened]; a panic does in any case. A response of 4xx is stored like
// any other, but for Options.NoEffect. What the handler streams, hijacks or
// makes larger than Options.MaxResponse goes to the first caller as it is; a
// repeated request is told 410 then.
func (l *Layer) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.needsKey(r) {
			next.ServeHTTP(w, r)
			return
		}
		in, raw, ok := l.read(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
		job, a, err := l.jobs.Start(ctx, in, onejob.Try{Provider: l.o.Provider, Timeout: l.o.Timeout})
		cancel()
		if err != nil {
			l.write(w, r, job, true, err)
			return
		}
		l.run(w, r, next, job, a, raw)
	})
}

// run is the handler's turn, and what becomes of it.
func (l *Layer) run(w http.ResponseWriter, r *http.Request, next http.Handler, job onejob.Job, a onejob.Attempt, raw []byte) {
	ctx, cancel := a.Context(r.Context())
	defer cancel()
	ctx, id := withIdentity(ctx, job, a)
	own := r.WithContext(ctx)
	own.Body = io.NopCloser(bytes.NewReader(raw))
	own.ContentLength = int64(len(raw))
	rec := newRecorder(w, l.o.MaxResponse)
	returned := false
	defer func() {
		if !returned {
			// A panic goes on, to be logged as the host does; with one that comes
			// after the line "nothing happened" the handler has been wrong.
			l.settle(r, a, func(ctx context.Context) error {
				_, err := l.jobs.MarkUnknown(ctx, a, errors.New("the handler panicked"))
				return err
			})
		}
	}()
	next.ServeHTTP(rec, own)
	returned = true
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
	}
	l.finish(w, r, rec, id)
}

// finish stores what the handler said, and then says it.
func (l *Layer) finish(w http.ResponseWriter, r *http.Request, rec *recorder, id *identity) {
	a := id.attempt
	switch {
	case id.nothing.Load() || slices.Contains(l.o.NoEffect, rec.status):
		l.settle(r, a, func(ctx context.Context) error {
			_, err := l.jobs.Fail(ctx, a, onejob.NoEffect(fmt.Errorf("the handler answered %d and said that nothing happened", rec.status)))
			return err
		})
	case rec.status >= 500:
		l.settle(r, a, func(ctx context.Context) error {
			_, err := l.jobs.MarkUnknown(ctx, a, fmt.Errorf("the handler answered %d", rec.status))
			return err
		})
	default:
		if job, err := l.complete(r, rec, a); errors.Is(err, onejob.ErrLateResult) || errors.Is(err, onejob.ErrResultMismatch) {
			// Somebody else has ended the job, and this response is not what became
			// of it.
			if !rec.sent {
				l.write(w, r, job, true, lateAnswer(job, err))
			}
			return
		}
	}
	if !rec.sent {
		l.mark(w, r, id.job)
		w.Header().Del("Location") // the handler's own, if it has one
	}
	_ = rec.send() // a client that is gone finds the stored response when it asks again
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
func (l *Layer) complete(r *http.Request, rec *recorder, a onejob.Attempt) (job onejob.Job, err error) {
	stored := record{Status: rec.status, Header: l.kept(rec.Header()), body: rec.body.Bytes()}
	stub := record{Status: max(rec.status, 200), Stub: true}
	if rec.sent {
		stored = stub
	}
	l.settle(r, a, func(ctx context.Context) error {
		job, err = l.jobs.Complete(ctx, a, stored.encode())
		if errors.Is(err, onejob.ErrInvalid) && !stored.Stub {
			job, err = l.jobs.Complete(ctx, a, stub.encode()) // larger than Options.MaxResult
		}
		return err
	})
	return job, err
}

// settle writes how the attempt ended, whatever has become of the client.
func (l *Layer) settle(r *http.Request, a onejob.Attempt, step func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
	defer cancel()
	if err := step(ctx); err != nil {
		l.log.Error("onejob: what a handler did was not stored as it said", "attempt", string(a.ID), "error", err.Error())
	}
}
