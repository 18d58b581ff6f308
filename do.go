package onejob

import (
	"context"
	"errors"
	"time"
)

// Call calls a provider once. ctx ends with the attempt: make the requests
// under it. attempt.ProviderKey is what to send as the provider's idempotency
// key. A nil error completes the job, with an empty result if that is nil. An
// error that does not prove that nothing happened (see [NoEffect]) leaves the
// attempt unknown.
type Call func(ctx context.Context, job Job, attempt Attempt) (result []byte, err error)

// Do does the whole way: Start, the call under the attempt's context, then
// Complete or Fail. It returns the completed job, whoever won it, now or long
// ago: a repeated Do of a completed job calls nobody, and a call that came
// second to another attempt gets that one's result, while its own is logged
// and kept as evidence on its attempt: it may mean a refund. Set Options.Logger,
// or look through Operator.Attempts with Filter.Late. An operator or a webhook
// may complete this very attempt with another result; then theirs stands, and
// this one is logged.
//
// The refusals are those of Start, with the job beside them. Once the call was
// made there are two errors: ErrFailed (nothing happened, another attempt may
// begin) and ErrInDoubt (blocked until someone knows or decides), each with the
// call's error as Error.Cause. A result that cannot be stored is ErrInDoubt
// too, since the provider has acted: one over the limit, one that OnComplete
// refused, one whose writing got no answer. Only where somebody ended the
// attempt or the job meanwhile are they ErrAttemptEnded and ErrLateResult. A
// panic of the call leaves the attempt unknown and goes on.
//
// An earlier attempt in the way is ErrAttemptOpen, and also ErrInDoubt when it
// is unknown. So ask for ErrInDoubt first: whoever's attempt it is, waiting does
// not end it.
//
// While the database gives no answer Do goes on trying to store the result, and
// begins no new try after the attempt's timeout; a try lasts as long as the
// driver waits (see package pgdial). Whoever keeps the result may try on after that:
// Complete with Error.Attempt and the result.
//
// ErrUnavailable comes from the beginning alone: the provider was not called.
// Start with Try.ID set to Error.Attempt.ID then gives the attempt back.
//
// A Do with Try.ID calls nobody if an earlier call began that attempt, since
// that one may have called the provider: the error is then ErrInDoubt.
func (s *Jobs) Do(ctx context.Context, in Intent, try Try, call Call) (job Job, err error) {
	const op = "Do"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if call == nil {
		return Job{}, named(op, invalid("call", "is required"))
	}
	job, a, fresh, err := s.start(ctx, op, in, try)
	switch {
	case err != nil && job.State == JobCompleted && !errors.Is(err, ErrKeyRetired):
		return job, nil // also where Try.ID names an attempt that has ended
	case err != nil:
		return job, err
	case !fresh && job.State == JobCompleted:
		return job, nil
	case try.ID != "" && !fresh:
		return job, &Error{Op: op, Err: ErrInDoubt, Job: job, Attempt: a}
	}
	actx, cancel := a.Context(ctx)
	defer cancel()
	settled := false
	defer func() {
		if !settled {
			// A panic of the call's or OnComplete's, or runtime.Goexit, goes on. The
			// error is not looked at: an attempt that stays started becomes unknown
			// by its deadline.
			_, _ = s.MarkUnknown(ctx, *a, errNoReturn)
		}
	}()
	w.host(true)
	result, err := call(actx, job, *a)
	w.host(false)
	if err != nil {
		// Under the attempt's own context, which knows what was sent.
		job, err = s.doFail(actx, op, job, *a, err)
	} else {
		w.host(s.onComplete != nil)
		job, err = s.doComplete(ctx, actx, op, job, *a, result)
		w.host(false)
	}
	settled = true
	return job, err
}

func (s *Jobs) doFail(ctx context.Context, op string, started Job, a Attempt, cause error) (Job, error) {
	proven := proves(ctx, cause)
	rec, err := s.fail(ctx, op, a, cause, proven)
	job := rec.Job
	if job.ID == "" {
		job = started
	}
	if job.State == JobCompleted {
		return job, nil // while this attempt was detached
	}
	refusal := &Error{Op: op, Err: ErrInDoubt, Job: job, Attempt: &a, Cause: cause}
	var e *Error
	switch {
	case err == nil:
		a = standing(rec, a)
		switch {
		case proven:
			refusal.Err = ErrFailed
		case a.State.final(): // a detached one, that somebody has ended since
			refusal.Err = ErrAttemptEnded
		}
	case errors.As(err, &e) && e.Err == ErrAttemptEnded:
		refusal.Err, refusal.Attempt = ErrAttemptEnded, e.Attempt
	default:
		// Not even the doubt could be stored: the deadline will tell it.
		refusal.Cause = errors.Join(cause, ruleError("the outcome was not stored: "+causeText(err)))
	}
	return job, refusal
}

func (s *Jobs) doComplete(ctx, actx context.Context, op string, started Job, a Attempt, result []byte) (Job, error) {
	job, err := s.Complete(ctx, a, result)
	// A result in hand is worth waiting for a database that restarts, for as
	// long as the attempt may take anyhow.
	for wait := 50 * time.Millisecond; passing(err) && actx.Err() == nil; wait = min(2*wait, 2*time.Second) {
		select {
		case <-actx.Done():
		case <-time.After(wait):
			job, err = s.Complete(ctx, a, result)
		}
	}
	if job.ID == "" {
		job = started
	}
	next, hosts := "the provider has answered, and its result is not stored: Complete with Error.Attempt and the result", false
	switch {
	case err == nil:
		return job, nil
	case job.State == JobCompleted:
		return job, nil // by another, or by a webhook in this attempt's name
	case errors.Is(err, ErrLateResult):
		return job, renamed(op, err)
	case !lost(err):
		// It was refused for good. The provider has acted all the same.
		why := ruleError("the call returned a result that could not be stored")
		var e *Error
		if errors.Is(err, ErrInvalid) {
			next = "the provider has answered, and its result is over the limit: raise Options.MaxResult, then Complete with Error.Attempt and the result"
		}
		if errors.Is(err, errRefused) {
			why += ": OnComplete refused it"
			next, hosts = "the provider has answered, and OnComplete refused its result: mend that, then Complete with Error.Attempt and the result", true
			if errors.As(err, &e) {
				err = e.Cause // the host's own error
			}
		}
		now, uerr := s.doubt(ctx, op, a, SettleParams{To: StateUnknown, Cause: string(why)})
		switch {
		case now.Job.State == JobCompleted:
			return now.Job, nil // by its successor, meanwhile
		case uerr == nil:
			job, a = now.Job, standing(now, a)
			if a.State.final() { // a detached one, that somebody has ended since
				return job, &Error{Op: op, Err: ErrAttemptEnded, Job: job, Attempt: &a, Cause: err}
			}
		case errors.As(uerr, &e) && e.Err == ErrAttemptEnded:
			return now.Job, &Error{Op: op, Err: ErrAttemptEnded, Job: now.Job, Attempt: e.Attempt, Cause: err}
		}
	}
	// Not ErrUnavailable, which would invite a repeat and with it a second call
	// of the provider; not ErrInvalid, which says that nothing was done.
	return job, &Error{Op: op, Err: ErrInDoubt, Job: job, Attempt: &a, Cause: err, next: next, hosts: hosts}
}

// standing is the attempt as the store has just returned it: the call, or
// somebody else, may have changed it since it began.
func standing(rec Record, a Attempt) Attempt {
	if rec.Attempt != nil {
		return *rec.Attempt
	}
	return a
}

// renamed sets the operation that the caller knows.
func renamed(op string, err error) error {
	if e, ok := err.(*Error); ok {
		e.Op = op
	}
	return err
}
