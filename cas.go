package onejob

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
)

// Complete writes the result and ends the job, if no one has before: by
// compare-and-swap on the job's version, together with the attempt, in one
// commit. It returns the job, completed by this attempt. Nil and empty results
// are the same.
//
// The second to come loses, whoever it is: ErrLateResult carries the job as it
// stands, with the winner's result. So does an attempt that was canceled,
// failed or is late, one of a canceled job, and one that carries another
// version. The result is thrown away whole; its time, size and digest are kept
// on the attempt, and a line is logged. An unknown attempt may win: its result
// is the evidence that ends the doubt.
//
// Repeated with the same result, the winner gets the job again, for as long as
// the row stands; with another, ErrResultMismatch.
//
// Complete also works on a context that has ended. ErrUnavailable says that
// the result may be stored or not: repeat the call. An error of OnComplete
// undoes the completion and comes back as Error.Cause, and so does a constraint
// that its rows break at COMMIT; the attempt stands as it was, so the call may
// be repeated.
func (s *Jobs) Complete(ctx context.Context, a Attempt, result []byte) (job Job, err error) {
	const op = "Complete"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	p, err := s.completeParams(a, result)
	if err == nil {
		err = s.outsideTx(ctx, op)
	}
	if err != nil {
		return Job{}, named(op, err)
	}
	return s.complete(ctx, op, p)
}

// CompleteTx is Complete within the host's transaction, without OnComplete:
// the job is completed if and when the host commits.
//
// After ErrLateResult roll the transaction back, so that nothing of the host's
// is kept for a loser, and call Complete once more, so that the evidence is.
// [Jobs.Tx] does both by itself. No refusal makes tx unusable; ErrRetryTx says
// that the database has given it up.
func (s *Jobs) CompleteTx(ctx context.Context, tx Tx, a Attempt, result []byte) (job Job, err error) {
	const op = "CompleteTx"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	p, err := s.completeParams(a, result)
	if err == nil {
		err = s.mayUse(tx)
	}
	if err != nil {
		return Job{}, named(op, err)
	}
	view := &txView{store: s.txStore, tx: tx}
	job, err = s.completeOn(ctx, op, view, p)
	switch {
	case view.won:
		// A repeat of a winner's says nothing of this transaction.
		s.witness(ctx, tx, func(o *openTx) {
			o.completed, o.endedAt = p.ID, job.EndedAt
			o.ended = append(o.ended, p.ID.Job())
		})
	case errors.Is(err, ErrLateResult):
		s.witness(ctx, tx, func(o *openTx) { o.late, o.lateErr = append(o.late, p), err })
	case lost(err):
		return job, txError(op, err)
	}
	return job, err
}

func (s *Jobs) completeParams(a Attempt, result []byte) (CompleteParams, error) {
	if err := checkAttempt(a); err != nil {
		return CompleteParams{}, err
	}
	if a.JobVersion < 1 {
		return CompleteParams{}, invalid("Attempt.JobVersion", "is not set: load the attempt with GetAttempt")
	}
	if err := checkSize("result", result, s.maxResult); err != nil {
		return CompleteParams{}, err
	}
	if result == nil {
		result = []byte{}
	}
	return CompleteParams{ID: a.ID, Version: a.JobVersion, Result: result, Digest: sha256.Sum256(result), Clock: s.clock}, nil
}

func (s *Jobs) complete(ctx context.Context, op string, p CompleteParams) (Job, error) {
	var also []JobID // that OnComplete has completed
	p.OnComplete = s.completionHook(&also)
	w := s.observing(ctx)
	w.host(p.OnComplete != nil)
	job, err := settling(ctx, tried(s, func(ctx context.Context) (Job, error) { return s.completeOn(ctx, op, s.store, p) }))
	w.host(false)
	s.mayEndWait(p.ID.Job())
	for _, id := range also {
		s.mayEndWait(id)
	}
	var hook hookError
	if errors.As(err, &hook) {
		return job, &Error{Op: op, Err: errRefused, Attempt: &Attempt{ID: p.ID, JobID: p.ID.Job()}, Cause: hook.error}
	}
	return job, err
}

// completer is what completeOn needs: a Store, or one within a transaction.
type completer interface {
	Complete(ctx context.Context, p CompleteParams) (Record, bool, error)
	Find(ctx context.Context, p FindParams) (Record, error)
}

// completeOn swaps, and when the swap took no row reads back what that means:
// a driver may have sent the statement twice, and then zero rows are what the
// winner itself gets.
func (s *Jobs) completeOn(ctx context.Context, op string, st completer, p CompleteParams) (Job, error) {
	ran := false // OnComplete, so that a constraint may be one of its rows'
	if hook := p.OnComplete; hook != nil {
		p.OnComplete = func(ctx context.Context, tx *sql.Tx, job Job) error {
			ran = true
			return hook(ctx, tx, job)
		}
	}
	for range rounds {
		ran = false
		rec, won, err := st.Complete(ctx, p)
		var hook hookError
		if errors.As(err, &hook) {
			return Job{}, hook
		}
		if err != nil && ran && constraint(err) {
			return Job{}, hookError{err} // OnComplete's rows, at COMMIT
		}
		if err != nil {
			return Job{}, unavailable(op, err)
		}
		if won {
			s.observing(ctx).saw(rec.Job.Attempt, true)
			return rec.Job, nil
		}
		rec, err = st.Find(ctx, FindParams{Attempt: p.ID, AnyOwner: true, Clock: p.Clock})
		if err != nil {
			return Job{}, unavailable(op, err)
		}
		if decided, err := completed(op, rec, p); decided {
			s.observing(ctx).saw(rec.Attempt, false)
			switch {
			case errors.Is(err, ErrLateResult):
				s.logDropped(ctx, op, "onejob: late result dropped", rec, p)
			case errors.Is(err, ErrResultMismatch):
				s.logDropped(ctx, op, "onejob: the winner came again with another result, dropped", rec, p)
			}
			return rec.Job, err
		}
	}
	return Job{}, unavailable(op, errUndecided)
}

// completed tells what zero rows meant. It decides nothing when the record
// shows an attempt that could have won.
func completed(op string, rec Record, p CompleteParams) (decided bool, err error) {
	job, a := rec.Job, rec.Attempt
	switch {
	case job.ID == "" || a == nil && job.PurgedAt.IsZero():
		return true, &Error{Op: op, Err: ErrNotFound}
	case job.State == JobCompleted && job.Attempt != nil && job.Attempt.ID == p.ID:
		if rec.ResultDigest == p.Digest {
			return true, nil
		}
		return true, &Error{Op: op, Err: ErrResultMismatch, Job: job, Attempt: job.Attempt}
	case job.State == JobCompleted:
		a = job.Attempt // the winner
	case job.State == JobOpen && !a.State.final() && job.Version == p.Version:
		return false, nil
	}
	late := &Error{Op: op, Err: ErrLateResult, Job: job, Attempt: a}
	if a == nil || a.ID != p.ID {
		late.self = p.ID
	}
	return true, late
}
