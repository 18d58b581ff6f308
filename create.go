package onejob

import "context"

// Create stores the intent as a job, or finds the job that holds its key. It
// reports whether this call stored it: of any number of simultaneous calls
// with one key, exactly one does, and all get the same job.
//
// The errors are ErrInvalid, ErrKeyConflict when the key was used for other
// input (in every state of the job, and before any other answer),
// ErrKeyRetired when the job was purged, and ErrUnavailable. After
// ErrUnavailable, repeat the call.
func (s *Jobs) Create(ctx context.Context, in Intent) (job Job, created bool, err error) {
	const op = "Create"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	p, err := s.createParams(in)
	if err == nil {
		err = s.mayWrite(ctx, op)
	}
	if err != nil {
		return Job{}, false, named(op, err)
	}
	rec, err := s.createOn(ctx, s.store, p)
	if err != nil {
		rec, err = s.findAfter(ctx, err, keyOf(in, s.clock))
	}
	if err != nil {
		return Job{}, false, unavailable(op, err)
	}
	job, created, err = createdJob(op, rec, p, in)
	w.made(created)
	return job, created, err
}

// CreateTx is Create within the host's transaction: the job is there if and
// when the host commits. Until then other Creates with the key wait, so keep
// the transaction short. No refusal makes tx unusable; ErrRetryTx says that
// the database has given it up.
func (s *Jobs) CreateTx(ctx context.Context, tx Tx, in Intent) (job Job, created bool, err error) {
	const op = "CreateTx"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	p, err := s.createParams(in)
	if err == nil {
		err = s.mayUse(tx)
	}
	if err != nil {
		return Job{}, false, named(op, err)
	}
	rec, err := s.createOn(ctx, &txView{store: s.txStore, tx: tx}, p)
	if err != nil {
		return Job{}, false, txError(op, err)
	}
	job, created, err = createdJob(op, rec, p, in)
	w.made(created)
	if created {
		s.witness(ctx, tx, func(o *openTx) { o.created = job.ID })
	}
	return job, created, err
}

// createParams validates in and mints the job's ID.
func (s *Jobs) createParams(in Intent) (CreateParams, error) {
	print, err := s.checkIntent(in)
	if err != nil {
		return CreateParams{}, err
	}
	id, err := s.mintJob()
	return CreateParams{ID: id, Intent: in, Fingerprint: print.sum, FingerprintVersion: print.version, Clock: s.clock}, err
}

// creator is what createOn needs: a Store, or one within a transaction.
type creator interface {
	Create(ctx context.Context, p CreateParams) (Record, error)
	Find(ctx context.Context, p FindParams) (Record, error)
}

// createOn inserts, or looks for the job that was in the way. That one may be
// gone by then (its creator rolled back, its tombstone was removed): again.
func (s *Jobs) createOn(ctx context.Context, st creator, p CreateParams) (Record, error) {
	for range rounds {
		rec, err := st.Create(ctx, p)
		if err != nil || rec.Job.ID != "" {
			return rec, err
		}
		rec, err = st.Find(ctx, keyOf(p.Intent, p.Clock))
		if err != nil || rec.Job.ID != "" {
			return rec, err
		}
	}
	return Record{}, errUndecided
}

// createdJob tells what the record of a job means for a call that asked for in.
func createdJob(op string, rec Record, p CreateParams, in Intent) (Job, bool, error) {
	if err := checkSame(op, rec, p, in); err != nil {
		return sameJob(err), false, err
	}
	return rec.Job, rec.Job.ID == p.ID, nil
}

// checkSame refuses a job whose input is another, and one that was purged.
func checkSame(op string, rec Record, p CreateParams, in Intent) error {
	asked := fingerprint{p.FingerprintVersion, p.Fingerprint}
	same, err := asked.matches(fingerprint{rec.FingerprintVersion, rec.Fingerprint}, in)
	switch {
	case err != nil:
		return named(op, err)
	case !same:
		return &Error{Op: op, Err: ErrKeyConflict, Job: rec.Job}
	case !rec.Job.PurgedAt.IsZero():
		return &Error{Op: op, Err: ErrKeyRetired, Job: rec.Job}
	}
	return nil
}

// sameJob is the job to return beside err: the one with this input, where
// there is one. A conflict's job has other input and is in the error only.
func sameJob(err error) Job {
	if e, ok := err.(*Error); ok && e.Err != ErrKeyConflict {
		return e.Job
	}
	return Job{}
}
