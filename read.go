package onejob

import (
	"context"
	"time"
)

// Get returns the owner's job. ErrNotFound is the same answer for another
// owner's job as for none.
func (s *Jobs) Get(ctx context.Context, owner string, id JobID) (job Job, err error) {
	const op = "Get"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	rec, err := s.findOwned(ctx, op, FindParams{Owner: owner, ID: id})
	return rec.Job, err
}

// GetByKey returns the owner's job that holds the key.
func (s *Jobs) GetByKey(ctx context.Context, owner, key string) (job Job, err error) {
	const op = "GetByKey"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	err = checkText("owner", owner, 1, maxOwner)
	if err == nil {
		err = checkText("key", key, 1, maxKey)
	}
	if err != nil {
		return Job{}, named(op, err)
	}
	rec, err := s.find(ctx, op, FindParams{Owner: owner, Key: key})
	return rec.Job, err
}

// GetAttempt returns an attempt and its job, for the executing side, which
// may hold nothing but the ID: there is no owner to check here, so do not
// take the ID from a user.
func (s *Jobs) GetAttempt(ctx context.Context, id AttemptID) (job Job, a Attempt, err error) {
	const op = "GetAttempt"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if id.Job() == "" {
		return Job{}, Attempt{}, &Error{Op: op, Err: ErrNotFound}
	}
	rec, err := s.find(ctx, op, FindParams{Attempt: id, AnyOwner: true})
	if err != nil {
		return Job{}, Attempt{}, err
	}
	if rec.Attempt == nil {
		return Job{}, Attempt{}, &Error{Op: op, Err: ErrNotFound}
	}
	return rec.Job, *rec.Attempt, nil
}

// Attempts returns the attempts of the owner's job by number. Of a purged job
// the winner is left, and those that were detached.
func (s *Jobs) Attempts(ctx context.Context, owner string, id JobID) (attempts []Attempt, err error) {
	const op = "Attempts"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	rec, err := s.findOwned(ctx, op, FindParams{Owner: owner, ID: id, All: true})
	w.stands(rec.Job)
	return rec.Attempts, err
}

func (s *Jobs) findOwned(ctx context.Context, op string, p FindParams) (Record, error) {
	if err := checkText("owner", p.Owner, 1, maxOwner); err != nil {
		return Record{}, named(op, err)
	}
	if !p.ID.valid() {
		return Record{}, &Error{Op: op, Err: ErrNotFound}
	}
	return s.find(ctx, op, p)
}

// find reads a job; within [Jobs.Tx] or OnComplete it reads through that
// transaction, for a pool of one connection would wait for ever.
func (s *Jobs) find(ctx context.Context, op string, p FindParams) (Record, error) {
	p.Clock = s.clock
	var rec Record
	var err error
	if o := s.inTx(ctx); o != nil {
		rec, err = s.txStore.FindTx(ctx, o.tx, p)
	} else {
		rec, err = s.store.Find(ctx, p)
	}
	if err != nil {
		return Record{}, unavailable(op, err)
	}
	if rec.Job.ID == "" {
		return Record{}, &Error{Op: op, Err: ErrNotFound}
	}
	return rec, nil
}

// findAfter reads back what became of a step that returned cause. If the
// record is not there its fate stays open, and cause is returned.
func (s *Jobs) findAfter(ctx context.Context, cause error, p FindParams) (Record, error) {
	own, cancel := detached(ctx)
	defer cancel()
	rec, err := s.store.Find(own, p)
	if err != nil || rec.Job.ID == "" || p.Attempt != "" && rec.Attempt == nil {
		return Record{}, cause
	}
	return rec, nil
}

func keyOf(in Intent, clock func() time.Time) FindParams {
	return FindParams{Owner: in.Owner, Key: in.Key, Clock: clock}
}
