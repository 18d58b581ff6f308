package onejob

import (
	"context"
	"time"
)

// Wait returns the owner's job once there is nothing to wait for: it is
// completed or canceled, or its attempt is unknown and no waiting ends that. It
// returns at once where that is so already. When ctx ends first, it returns the
// job as it was when the wait began, and ctx's error. A job whose attempt has
// failed is pending and waited for: somebody may begin another.
//
// What this Jobs changes in this process wakes its waiters at once; a CompleteTx
// in a transaction of the host's is not known to have been committed, and is seen
// as others' changes are: by looking, within 50 ms at first, then less and less
// often, and after two seconds about once in 0.8 s. With [Options.Notifier] what
// others change is also told as it happens.
//
// All waiters of a Jobs share one look, at up to 1,000 jobs at a time over one
// connection, and up to two more where this process or a Notifier has told of
// something; nothing runs where nobody waits. While the database gives no answer
// they wait on: bound the wait by ctx. Where a connection falls silent another
// look begins after ten seconds, up to three in all: see package pgdial, which
// ends such a silence.
//
// ErrNotFound is the same answer for another owner's job as for none, and also
// comes when the job is removed meanwhile. Within [Jobs.Tx] a wait would wait for
// its own transaction: ErrInvalid.
func (s *Jobs) Wait(ctx context.Context, owner string, id JobID) (job Job, err error) {
	const op = "Wait"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(&job, &err)
	}
	if err := s.outsideTx(ctx, op); err != nil {
		return Job{}, err
	}
	if !id.valid() {
		_, err := s.findOwned(ctx, op, FindParams{Owner: owner, ID: id})
		return Job{}, err
	}
	// Seated before the first look: what changes in between is not missed.
	seat := s.waiting.enter(id)
	defer s.waiting.leave(seat)
	rec, err := s.findOwned(ctx, op, FindParams{Owner: owner, ID: id})
	if lost(err) && ctx.Err() != nil {
		return Job{}, ctx.Err()
	}
	if err != nil || nothingToWaitFor(rec.Job) {
		return rec.Job, err
	}
	s.waiting.serve(seat, s.look)
	select {
	case a := <-seat.answer:
		return a.job, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-seat.answer:
		return a.job, a.err
	default:
		return rec.Job, ctx.Err()
	}
}

// nothingToWaitFor reports whether a job is final, or its attempt unknown.
func nothingToWaitFor(job Job) bool {
	status := job.Status()
	return status != StatusPending && status != StatusRunning
}

// look asks the store about jobs that are waited for, and tells whoever waits.
// An error is not told: they are looked at again.
func (s *Jobs) look(hinted, due []JobID, asOf int64) {
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	if store, ok := s.store.(WaitStore); ok && len(due) > 0 {
		settled, err := store.Settled(ctx, due, s.clock)
		if err != nil {
			settled = nil
		}
		due = settled
	}
	for _, ids := range [][]JobID{hinted, due} {
		for _, id := range ids {
			rec, err := s.store.Find(ctx, FindParams{ID: id, AnyOwner: true, Clock: s.clock})
			switch {
			case err != nil:
			case rec.Job.ID == "":
				s.waiting.tell(id, asOf, Job{}, &Error{Op: "Wait", Err: ErrNotFound})
			case nothingToWaitFor(rec.Job):
				s.waiting.tell(id, asOf, rec.Job, nil)
			}
		}
	}
}

// How long after the last look the next one comes, at first and at most.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = 16 * firstLook
)

// started is where the grid of looks begins.
var started = time.Now()

// nextLook is when to look again at a job that has been waited for since then.
// Looks are on a grid, each pace a multiple of the one before, so that those of
// all waiters fall together.
func nextLook(now, since time.Time) time.Time {
	pace := firstLook
	for pace < lastLook && 2*pace <= now.Sub(since)/2 {
		pace *= 2
	}
	return started.Add(now.Sub(started).Truncate(pace) + pace)
}
