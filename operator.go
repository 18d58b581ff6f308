package onejob

import (
	"context"
	"errors"
)

// Operator decides from outside: for people who carry the pager, and for the
// programs that act in their name. Its methods know no owners, so they are not
// for users. Each decision needs a name and a reason, and both are stored;
// repeated, it succeeds, and the first name and reason stand.
type Operator struct{ jobs *Jobs }

// NewOperator returns an operator that shares the store, the options and
// OnComplete of jobs.
func NewOperator(jobs *Jobs) *Operator { return &Operator{jobs} }

// Confirm says that it happened: the job is completed by this attempt with the
// result, as by Complete, OnComplete included.
//
// Give the operator the Options of the processes that serve: OnComplete runs
// where the job is completed.
//
// If another has won the error is ErrCompleted, if the job was canceled
// ErrJobCanceled, if the attempt cannot win any more ErrAttemptEnded. Then the
// confirmed effect is one too many: the evidence is kept, and it may mean a
// refund.
func (o *Operator) Confirm(ctx context.Context, id AttemptID, result []byte, d Decision) (job Job, err error) {
	const op = "Confirm"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if err := checkDecision(d); err != nil {
		return Job{}, named(op, err)
	}
	if err := o.jobs.outsideTx(ctx, op); err != nil {
		return Job{}, err
	}
	if id.Job() == "" {
		return Job{}, &Error{Op: op, Err: ErrNotFound}
	}
	rec, err := o.jobs.attemptRecord(ctx, op, id)
	if err != nil {
		return Job{}, err
	}
	a := Attempt{ID: id, JobID: rec.Job.ID, JobVersion: rec.Job.Version} // of a purge, which leaves the winner alone
	if rec.Attempt != nil {
		a = *rec.Attempt
	}
	p, err := o.jobs.completeParams(a, result)
	if err != nil {
		return Job{}, named(op, err)
	}
	d.Reason = cleanText(d.Reason)
	p.Decision = &d
	job, err = o.jobs.complete(ctx, op, p)
	var e *Error
	if errors.As(err, &e) && e.Err == ErrLateResult {
		switch job.State {
		case JobCompleted:
			e.Err = ErrCompleted
		case JobCanceled:
			e.Err = ErrJobCanceled
		default:
			e.Err = ErrAttemptEnded
		}
	}
	return job, err
}

// Refute says that it had no effect: the attempt has failed, and another may
// begin. That includes one that is still started: should it come back with a
// result, that is late and thrown away. ErrAttemptEnded if it had ended
// otherwise.
func (o *Operator) Refute(ctx context.Context, id AttemptID, d Decision) (Job, error) {
	return o.decide(ctx, "Refute", id, StateFailed, d)
}

// CancelAttempt says that, whatever the attempt did, it shall not win, not
// even if it comes back before its successor. Another may begin: if this one
// has acted, its effect is there twice, and that is the operator's word.
// ErrAttemptEnded if it had ended otherwise.
func (o *Operator) CancelAttempt(ctx context.Context, id AttemptID, d Decision) (Job, error) {
	return o.decide(ctx, "CancelAttempt", id, StateCanceled, d)
}

// DetachAttempt lets the job go on beside the attempt: another may begin, both
// may still win, the first to complete does. ErrAttemptEnded if it had ended.
func (o *Operator) DetachAttempt(ctx context.Context, id AttemptID, d Decision) (Job, error) {
	return o.decide(ctx, "DetachAttempt", id, StateDetached, d)
}

func (o *Operator) decide(ctx context.Context, op string, id AttemptID, to State, d Decision) (job Job, err error) {
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if err := checkDecision(d); err != nil {
		return Job{}, named(op, err)
	}
	if err := o.jobs.mayTouch(ctx, op, Attempt{ID: id}); err != nil {
		return Job{}, err
	}
	d.Reason = cleanText(d.Reason)
	p := SettleParams{ID: id, To: to, Decision: &d, Clock: o.jobs.clock}
	return deciding(ctx, op, tried(o.jobs, func(ctx context.Context) (Job, error) {
		rec, err := o.jobs.settleOnce(ctx, op, p)
		return rec.Job, err
	}))
}

// CancelJob withdraws the intent: nothing can win any more, and no attempt may
// begin. An attempt that is open stays so: its provider may have acted, and
// that remains to be found out. Its result comes too late from now on: see
// Filter.Late. ErrCompleted if the job was done.
func (o *Operator) CancelJob(ctx context.Context, id JobID, d Decision) (job Job, err error) {
	const op = "CancelJob"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if err := checkDecision(d); err != nil {
		return Job{}, named(op, err)
	}
	if err := o.jobs.outsideTx(ctx, op); err != nil {
		return Job{}, err
	}
	if !id.valid() {
		return Job{}, &Error{Op: op, Err: ErrNotFound}
	}
	d.Reason = cleanText(d.Reason)
	p := CancelParams{ID: id, Decision: d, Clock: o.jobs.clock}
	defer o.jobs.mayEndWait(id)
	return deciding(ctx, op, tried(o.jobs, func(ctx context.Context) (Job, error) { return o.jobs.cancelOnce(ctx, op, p) }))
}

func (s *Jobs) cancelOnce(ctx context.Context, op string, p CancelParams) (Job, error) {
	for range rounds {
		rec, applied, err := s.store.CancelJob(ctx, p)
		if err != nil {
			return Job{}, unavailable(op, err)
		}
		if applied {
			s.observing(ctx).saw(nil, true)
			return rec.Job, nil
		}
		rec, err = s.store.Find(ctx, FindParams{ID: p.ID, AnyOwner: true, Clock: p.Clock})
		if err != nil {
			return Job{}, unavailable(op, err)
		}
		switch {
		case rec.Job.ID == "":
			return Job{}, &Error{Op: op, Err: ErrNotFound}
		case rec.Job.State == JobCanceled:
			return rec.Job, nil
		case rec.Job.State == JobCompleted:
			return rec.Job, &Error{Op: op, Err: ErrCompleted, Job: rec.Job, Attempt: rec.Job.Attempt}
		}
	}
	return Job{}, unavailable(op, errUndecided)
}

// Get returns a job, whoever owns it, and its attempts by number.
func (o *Operator) Get(ctx context.Context, id JobID) (job Job, attempts []Attempt, err error) {
	const op = "Operator.Get"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if !id.valid() {
		return Job{}, nil, &Error{Op: op, Err: ErrNotFound}
	}
	rec, err := o.jobs.find(ctx, op, FindParams{ID: id, AnyOwner: true, All: true})
	return rec.Job, rec.Attempts, err
}

// queries returns the store's ability to answer op.
func (o *Operator) queries(ctx context.Context, op string) (OperatorStore, error) {
	q, ok := o.jobs.store.(OperatorStore)
	if !ok {
		return nil, &Error{Op: op, Err: ErrUnsupported}
	}
	return q, o.jobs.outsideTx(ctx, op)
}
