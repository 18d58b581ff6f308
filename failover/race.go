package failover

import (
	"context"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

const silent = "it has said nothing within the patience of a race on purpose"

// detach lets the next provider run beside a silent attempt, if there is one
// that may: else an attempt that cannot be followed would be detached for
// nothing. It reports whether it did.
func (w *walk) detach(ctx context.Context, t turn, current began) bool {
	if ctx.Err() != nil {
		return false
	}
	attempts := append(t.attempts[:len(t.attempts):len(t.attempts)], current.attempt)
	_, route, err := w.next(current.job, attempts)
	if err != nil {
		return false
	}
	if try := w.try(current.job, route, attempts); try.Require != nil && !w.r.qualified(ctx, route, *try.Require) {
		w.r.log.Warn("onejob: the next provider of a race is not qualified", "job", string(current.job.ID), "provider", route.Name)
		return false
	}
	_, err = w.r.op.DetachAttempt(ctx, current.attempt.ID, onejob.Decision{By: w.r.c.By, Reason: silent})
	if err != nil {
		// It has ended meanwhile, which its outcome will tell, or the store is
		// silent: then it is waited for.
		w.r.log.Info("onejob: an attempt was not detached", "attempt", string(current.attempt.ID), "error", err.Error())
	}
	if err == nil {
		a := current.attempt
		a.State = onejob.StateDetached
		w.detached = &a
	}
	return err == nil
}

// running is how many of the job's attempts may be at work: those that this run
// has in flight, and all that are detached, whoever has begun them.
func (w *walk) running(t turn) int {
	n := 1
	for _, a := range t.attempts {
		if a.State == onejob.StateDetached {
			n++
		}
	}
	return max(n, w.flying)
}

// qualified looks beforehand. What counts is the look in the statement that
// begins the attempt.
func (r *Runner) qualified(ctx context.Context, route provider.Route, need onejob.Requirement) bool {
	for q, err := range r.op.Qualifications(ctx) {
		if err != nil {
			return false
		}
		if q.Provider == route.Name && q.Requirement == need {
			return q.RevokedAt.IsZero() && q.Passes == q.Runs && q.ExpiresAt.After(r.c.Now())
		}
	}
	return false
}
