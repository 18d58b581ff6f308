package onejob

import "context"

// Start creates the job and begins an attempt at it, in one commit. On a key
// that exists it finds the job and begins an attempt there. Where Try.Require is
// not met it creates the job alone, and refuses with ErrNotQualified.
//
// The errors are those of Create and BeginAttempt. The job is returned
// whenever one with this input exists, also beside a refusal.
func (s *Jobs) Start(ctx context.Context, in Intent, try Try) (Job, Attempt, error) {
	const op = "Start"
	job, a, _, err := s.start(ctx, op, in, try)
	if err != nil {
		return job, Attempt{}, err
	}
	return job, *a, nil
}

// start also reports whether this very call began the attempt.
func (s *Jobs) start(ctx context.Context, op string, in Intent, try Try) (job Job, a *Attempt, fresh bool, err error) {
	ctx, w := s.observe(ctx, "Start")
	if w != nil {
		defer w.ends(&job, &err)
	}
	cp, bp, err := s.startParams(in, try)
	if err == nil {
		err = s.mayWrite(ctx, op)
	}
	if err != nil {
		return Job{}, nil, false, unsent(op, err, bp)
	}
	for range rounds {
		rec, fresh, err := s.store.Start(ctx, cp, bp)
		if err == nil && fresh {
			w.made(true)
			w.saw(rec.Attempt, true)
			return withAttempt(rec), rec.Attempt, true, nil
		}
		if err == nil && rec.Job.ID != "" {
			w.made(true) // the job alone
			_, err := begun(op, rec, bp)
			return rec.Job, nil, false, err
		}
		if err != nil {
			rec, err = s.findAfter(ctx, err, keyOf(in, s.clock))
		} else {
			rec, err = s.store.Find(ctx, keyOf(in, s.clock))
		}
		if err != nil {
			return Job{}, nil, false, unknownFate(op, err, bp)
		}
		if rec.Job.ID != "" {
			return s.startOn(ctx, op, rec, cp, bp, in, try)
		}
		if try.ID == "" {
			continue
		}
		// Not the key was in the way but the ID that the caller gave.
		rec, err = s.store.Find(ctx, FindParams{ID: cp.ID, AnyOwner: true, Clock: s.clock})
		if err != nil {
			return Job{}, nil, false, unknownFate(op, err, bp)
		}
		if rec.Job.ID != "" && (rec.Job.Owner != in.Owner || rec.Job.Key != in.Key) {
			return Job{}, nil, false, named(op, invalid("Try.ID", "belongs to another key's job: leave it empty"))
		}
	}
	return Job{}, nil, false, unknownFate(op, errUndecided, bp)
}

// startParams takes the job's ID from Try.ID where that is set, so that a
// repeated Start writes the same rows.
func (s *Jobs) startParams(in Intent, try Try) (CreateParams, BeginParams, error) {
	cp, err := s.createParams(in)
	if err != nil {
		return cp, BeginParams{}, err
	}
	if job := try.ID.Job(); job != "" {
		cp.ID = job
	}
	bp, err := s.beginParams(cp.ID, try)
	bp.Owner = in.Owner
	return cp, bp, err
}

// startOn goes on with the job that holds the key.
func (s *Jobs) startOn(ctx context.Context, op string, rec Record, cp CreateParams, bp BeginParams, in Intent, try Try) (Job, *Attempt, bool, error) {
	if err := checkSame(op, rec, cp, in); err != nil {
		return sameJob(err), nil, false, err
	}
	if rec.Job.ID != cp.ID {
		if try.ID != "" {
			other, err := s.store.Find(ctx, FindParams{ID: cp.ID, AnyOwner: true, Clock: s.clock})
			if err != nil {
				return rec.Job, nil, false, unknownFate(op, err, bp)
			}
			if other.Job.ID != "" {
				return rec.Job, nil, false, &Error{Op: op, Err: ErrInvalid, Job: rec.Job,
					Field: "Try.ID", rule: "belongs to another job than the key: leave it empty"}
			}
			// It was minted for a job that never came to be: another caller's did.
		}
		bp.ID = attemptID(rec.Job.ID, bp.ID.own())
		if decided, err := begun(op, rec, bp); decided && try.ID == "" {
			return rec.Job, nil, false, err
		}
	}
	// The job is this call's own when the driver sent Start twice: Begin then
	// finds the attempt by its ID.
	now, fresh, err := s.begin(ctx, op, bp)
	if err != nil {
		if e, ok := err.(*Error); ok && e.Job.ID != "" {
			return e.Job, nil, false, err
		}
		return rec.Job, nil, false, err
	}
	ours := fresh || try.ID == ""                              // minted here: nobody else has begun it
	s.observing(ctx).made(rec.Job.ID == cp.ID && try.ID == "") // its ID was minted here too
	s.observing(ctx).saw(now.Attempt, ours)
	return withAttempt(now), now.Attempt, fresh, nil
}

// withAttempt is the record's job with the attempt that has begun. A job that is
// over shows its winner, also to a repeated Start whose attempt is still open.
func withAttempt(rec Record) Job {
	if rec.Job.State == JobOpen {
		rec.Job.Attempt = rec.Attempt
	}
	return rec.Job
}
