// Reverseorder shows the call that leaves first and returns last. The primary
// is asked; an operator stops waiting for it; the fallback is asked and wins;
// then the primary comes back with a result that nobody wants any more.
//
//	go run ./examples/reverseorder
//
// What to look at: worker.carry, where the whole protection of a worker is the
// error of Jobs.Complete; and the end of the output, where the bytes of the
// database's files are searched for the late payload. Only its size, its
// digest and its time are kept. The second scene is the same with an attempt
// that was canceled: it cannot win even though it comes back first.
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

// The payloads. The canary is what must not be found afterwards.
const (
	goodPayload = "poster printed by the fallback, tray 7"
	latePayload = canary + ": poster printed by the primary, tray 1"
	canary      = "CANARY-4c1d"
)

func main() { timeline.Main(run) }

func run(ctx context.Context, w io.Writer, _ []string) (err error) {
	db, err := tempdb.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Remove()) }()

	jobs := onejob.New(db, nil)
	s := &story{tl: timeline.New(w), jobs: jobs, op: onejob.NewOperator(jobs)}
	fmt.Fprintln(w, "reverseorder: the primary leaves first and returns last, jobs in SQLite")
	for _, scene := range []func(context.Context) error{
		s.detached,
		s.canceled,
		func(context.Context) error { return s.search(db) },
	} {
		if err := scene(ctx); err != nil {
			return errors.Join(s.tl.Err(), err)
		}
	}
	return s.tl.Err()
}

type story struct {
	tl   *timeline.Timeline
	jobs *onejob.Jobs
	op   *onejob.Operator
}

// detached: both may still win, and the first to complete does.
func (s *story) detached(ctx context.Context) error {
	s.tl.Scene("detached: go on beside it, the first to return wins")
	_, first, err := s.jobs.Start(ctx, intent("order-45"), try("primary"))
	if err != nil {
		return err
	}
	primary := s.send(ctx, first, latePayload)

	ann := onejob.Decision{By: "ann", Reason: "the customer waits at the counter"}
	job, err := s.op.DetachAttempt(ctx, first.ID, ann)
	if err != nil {
		return err
	}
	s.tl.Row(ann.By, "detaches  attempt 1: %q, the job is %s", ann.Reason, job.Status())

	second, err := s.jobs.BeginAttempt(ctx, job, try("fallback"))
	if err != nil {
		return err
	}
	fallback := s.send(ctx, second, goodPayload)
	if _, err := fallback.comeBack(); err != nil {
		return fmt.Errorf("broken promise: the first to return wins: %w", err)
	}
	late, lateErr := primary.comeBack()
	s.promiseLate(late, lateErr, second)
	return s.evidence(ctx, first.ID, onejob.StateLate)
}

// canceled: the operator's word is stronger than the order of arrival.
func (s *story) canceled(ctx context.Context) error {
	s.tl.Scene("canceled: whatever it did, it shall not win, not even by coming first")
	_, first, err := s.jobs.Start(ctx, intent("order-46"), try("primary"))
	if err != nil {
		return err
	}
	primary := s.send(ctx, first, latePayload)

	ann := onejob.Decision{By: "ann", Reason: "its ink is the wrong one"}
	job, err := s.op.CancelAttempt(ctx, first.ID, ann)
	if err != nil {
		return err
	}
	s.tl.Row(ann.By, "cancels   attempt 1: %q, the job is %s", ann.Reason, job.Status())

	second, err := s.jobs.BeginAttempt(ctx, job, try("fallback"))
	if err != nil {
		return err
	}
	fallback := s.send(ctx, second, goodPayload)
	late, lateErr := primary.comeBack()
	s.tl.Promise(errors.Is(lateErr, onejob.ErrLateResult) && late.Status() == onejob.StatusRunning,
		"a canceled attempt cannot win: ErrLateResult, and the job is %s", late.Status())
	done, err := fallback.comeBack()
	s.tl.Promise(err == nil && string(done.Result) == goodPayload, "its successor can: the job is %s", done.Status())
	return s.evidence(ctx, first.ID, onejob.StateCanceled)
}

// promiseLate checks what the loser is told.
func (s *story) promiseLate(job onejob.Job, err error, winner onejob.Attempt) {
	refusal, ok := errors.AsType[*onejob.Error](err)
	if !s.tl.Promise(ok && errors.Is(err, onejob.ErrLateResult), "the loser is told: ErrLateResult") {
		return
	}
	s.tl.Promise(refusal.Attempt != nil && refusal.Attempt.ID == winner.ID && string(refusal.Job.Result) == goodPayload,
		"and to whom it lost: attempt %d by %s, with the result %q", winner.Number, winner.Provider, refusal.Job.Result)
	s.tl.Promise(job.Version == 2, "one result: the job was completed once (version %d)", job.Version)
}

// evidence shows all that is left of a late payload.
func (s *story) evidence(ctx context.Context, id onejob.AttemptID, want onejob.State) error {
	job, a, err := s.jobs.GetAttempt(ctx, id)
	if err != nil {
		return err
	}
	s.tl.Promise(a.State == want && !a.LateAt.IsZero() && a.LateSize == int64(len(latePayload)) &&
		a.LateDigest == sha256.Sum256([]byte(latePayload)),
		"evidence is kept: attempt %d of job %s is %s", a.Number, timeline.Short(job.ID), a.State)
	s.tl.Note("size %d bytes, SHA-256 %x…, %d ms after it left",
		a.LateSize, a.LateDigest[:6], a.LateAt.Sub(a.StartedAt).Milliseconds())
	return nil
}
