package onejob

import "context"

// BeginAttempt begins an attempt at the job, which is found by its ID and
// owner. Only when it has returned may the provider be called: the attempt is
// then durable. Of any number of simultaneous calls exactly one begins.
//
// The refusals, in this order: ErrNotFound, ErrJobCanceled, ErrCompleted (with
// the result), ErrAttemptOpen (also ErrInDoubt when that attempt is unknown;
// Error.Attempt is the one in the way), ErrTooManyAttempts, ErrNotQualified. A
// refusal writes nothing.
//
// ErrUnavailable carries the minted attempt: repeat with Try.ID set to its ID.
// Repeated, an attempt that is started is returned, one that is unknown is
// ErrInDoubt, and one that is over or detached is ErrAttemptEnded. Whoever
// repeats must be the one who called first: two callers with one Try.ID both
// succeed.
func (s *Jobs) BeginAttempt(ctx context.Context, job Job, try Try) (a Attempt, err error) {
	const op = "BeginAttempt"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	p, err := s.beginParams(job.ID, try)
	if err == nil {
		err = checkText("Job.Owner", job.Owner, 1, maxOwner)
	}
	if err == nil {
		err = s.mayWrite(ctx, op)
	}
	if err != nil {
		return Attempt{}, unsent(op, err, p)
	}
	p.Owner = job.Owner
	rec, fresh, err := s.begin(ctx, op, p)
	if err != nil {
		return Attempt{}, err
	}
	w.stands(rec.Job)
	w.saw(rec.Attempt, fresh || try.ID == "") // minted here: nobody else has begun it
	return *rec.Attempt, nil
}

// beginParams validates try and mints the attempt's ID.
func (s *Jobs) beginParams(job JobID, try Try) (BeginParams, error) {
	if err := checkTry(try); err != nil {
		return BeginParams{}, err
	}
	if _, keeps := s.store.(QualificationStore); try.Require != nil && !keeps {
		// Ignoring it would let an unproven provider through.
		return BeginParams{}, &Error{Err: ErrUnsupported, Field: "Try.Require",
			rule: "needs a store that keeps qualifications: leave it nil"}
	}
	if !job.valid() {
		return BeginParams{}, &Error{Err: ErrNotFound}
	}
	p := BeginParams{
		ID: try.ID, Provider: try.Provider, Max: s.maxAttempts, Clock: s.clock,
		Timeout: wholeMicros(try.Timeout), Require: try.Require,
	}
	if try.ID == "" {
		id, err := s.mintAttempt(job)
		p.ID = id
		return p, err
	}
	if try.ID.Job() != job {
		return BeginParams{}, invalid("Try.ID", "belongs to another job: leave it empty")
	}
	return p, nil
}

// begin carries the step out and tells what its outcome means. It reports
// whether this very call began the attempt.
func (s *Jobs) begin(ctx context.Context, op string, p BeginParams) (rec Record, fresh bool, err error) {
	asked := FindParams{Attempt: p.ID, Owner: p.Owner, Clock: p.Clock}
	for range rounds {
		rec, fresh, err = s.store.Begin(ctx, p)
		if err != nil {
			rec, err = s.findAfter(ctx, err, asked)
			if err != nil {
				return Record{}, false, unknownFate(op, err, p)
			}
		}
		if decided, err := begun(op, rec, p); decided {
			return rec, fresh, err
		}
		// The statement's own snapshot showed nothing in the way, and still
		// something was: it came in meanwhile, and may be gone again.
		rec, err = s.store.Find(ctx, asked)
		if err != nil {
			return Record{}, false, unknownFate(op, err, p)
		}
		if rec.Job.ID == "" {
			return Record{}, false, &Error{Op: op, Err: ErrNotFound}
		}
		if decided, err := begun(op, rec, p); decided {
			return rec, false, err
		}
	}
	return Record{}, false, unknownFate(op, errUndecided, p)
}

// begun tells what a record means for the attempt in p. It decides nothing
// when the record shows neither the attempt nor anything in its way.
func begun(op string, rec Record, p BeginParams) (decided bool, err error) {
	if rec.Job.ID == "" {
		return false, nil
	}
	if rec.Attempt != nil {
		return true, repeated(op, rec, p)
	}
	refusal := &Error{Op: op, Job: rec.Job, Attempt: rec.Job.Attempt}
	switch {
	case rec.Job.State == JobCanceled:
		refusal.Err = ErrJobCanceled
	case rec.Job.State == JobCompleted:
		refusal.Err = ErrCompleted
	case rec.Job.Attempt != nil:
		refusal.Err = ErrAttemptOpen
	case rec.Count >= p.Max:
		refusal.Err = ErrTooManyAttempts
	case rec.Unqualified != "":
		refusal.Err, refusal.Reason = ErrNotQualified, rec.Unqualified
	default:
		return false, nil
	}
	return true, refusal
}

// repeated tells what the row with this very ID means.
func repeated(op string, rec Record, p BeginParams) error {
	refusal := &Error{Op: op, Job: rec.Job, Attempt: rec.Attempt}
	switch {
	case rec.Attempt.Provider != p.Provider:
		return &Error{Op: op, Err: ErrInvalid, Job: rec.Job, Field: "Try.ID", rule: "belongs to an attempt of another provider"}
	case rec.Attempt.State == StateStarted:
		return nil
	case rec.Attempt.State == StateUnknown:
		refusal.Err = ErrInDoubt
	default:
		refusal.Err = ErrAttemptEnded
	}
	return refusal
}

// unsent names an error that came before anything was sent.
func unsent(op string, err error, p BeginParams) error {
	if lost(err) {
		return unknownFate(op, err, p)
	}
	return named(op, err)
}

// unknownFate is ErrUnavailable with the attempt to repeat.
func unknownFate(op string, cause error, p BeginParams) error {
	err := unavailable(op, cause)
	if e, ok := err.(*Error); ok && e.Attempt == nil {
		e.Attempt = &Attempt{ID: p.ID, JobID: p.ID.Job(), Provider: p.Provider, Timeout: p.Timeout}
	}
	return err
}
