// Package shop shows how a job travels through a queue, here riverqueue/river:
// the handler stores the intent and enqueues its ID in one transaction, and the
// worker begins the attempt. A queue delivers at least once; whoever is
// delivered the same ID a second time meets the attempt of the first.
//
//	go run ../../internal/dbtest/withpostgres go test .
//
// It is a module of its own, so that nobody inherits the queue with the library.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

// workArgs is all that travels: the job's ID.
type workArgs struct {
	Job onejob.JobID `json:"job"`
}

func (workArgs) Kind() string { return "order" }

// accept stores the intent and enqueues it, both or neither. It is the layer's
// Options.Create.
func accept(jobs *onejob.Jobs, queue *river.Client[*sql.Tx]) func(ctx context.Context, in onejob.Intent) (onejob.Job, bool, error) {
	return func(ctx context.Context, in onejob.Intent) (job onejob.Job, created bool, err error) {
		err = jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if job, created, err = jobs.CreateTx(ctx, tx, in); err != nil || !created {
				return err // it is there, and with it its place in the queue
			}
			_, err = queue.InsertTx(ctx, tx, workArgs{job.ID}, nil)
			return err
		})
		return job, created && err == nil, err
	}
}

// worker does the jobs.
type worker struct {
	river.WorkerDefaults[workArgs]
	jobs *onejob.Jobs
	op   *onejob.Operator
	call func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error)
}

// Work begins the attempt, calls, and stores the result. River's own retries are
// for what onejob says may be tried again.
func (w *worker) Work(ctx context.Context, delivered *river.Job[workArgs]) error {
	job, _, err := w.op.Get(ctx, delivered.Args.Job)
	if err != nil {
		return err
	}
	// BeginAttempt, by the job, and not Do: what the HTTP layer has digested beside
	// the params (Intent.Scope) is not stored, and an intent without it is another.
	try := onejob.Try{Provider: "worker", Timeout: 10 * time.Second}
	a, err := w.jobs.BeginAttempt(ctx, job, try)
	if lost := new(onejob.Error); errors.Is(err, onejob.ErrUnavailable) && errors.As(err, &lost) && lost.Attempt != nil {
		try.ID = lost.Attempt.ID // it may have begun: asked again, it is this one's
		a, err = w.jobs.BeginAttempt(ctx, job, try)
	}
	switch {
	case errors.Is(err, onejob.ErrCompleted):
		return nil
	case errors.Is(err, onejob.ErrInDoubt), errors.Is(err, onejob.ErrJobCanceled), errors.Is(err, onejob.ErrTooManyAttempts):
		return river.JobCancel(err)
	case errors.Is(err, onejob.ErrAttemptOpen):
		return river.JobSnooze(time.Second) // another delivery is at it
	case err != nil:
		return err
	}
	ctx, cancel := a.Context(ctx)
	defer cancel()
	result, err := w.call(idempotency.WithAttempt(ctx, job, a), job, a)
	if err == nil {
		return w.complete(ctx, a, result)
	}
	job, ferr := w.jobs.Fail(ctx, a, err)
	if ferr == nil && job.Status() == onejob.StatusPending {
		return err // nothing happened: the queue may try again
	}
	// No repeat ends a doubt: the job waits for Reconcile or an operator, who
	// enqueues it again if it is to go on.
	return river.JobCancel(errors.Join(err, ferr))
}

// complete keeps at it until the attempt's time is over: a result in hand is worth
// that.
func (w *worker) complete(ctx context.Context, a onejob.Attempt, result []byte) error {
	for {
		_, err := w.jobs.Complete(ctx, a, result)
		if !errors.Is(err, onejob.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}
