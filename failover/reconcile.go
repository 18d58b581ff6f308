package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// ReconcileOptions bound a pass; zero means the defaults.
type ReconcileOptions struct {
	// Limit is how many attempts are asked about in one pass, shared by the
	// providers. Default: 100.
	Limit int
	// Timeout bounds each question. Default: the runner's.
	Timeout time.Duration
	// Progress hears of each question once it is answered.
	Progress func(Pass)
}

// Pass is what one look at the doubts has come to.
type Pass struct {
	// Asked is how many questions were put. Of the attempts asked about, Ended is
	// how many are in doubt no more, Open how many still are. What cannot be asked
	// about is not counted: for all doubts there are see Operator.Stats.
	Asked, Ended, Open int
	// Later is how many were passed over, for they were asked about not long ago
	// or the limit was reached.
	Later int
}

// Reconcile asks once about the unknown attempts of this runner's kind and
// providers, and about overdue detached ones of jobs that are still open, oldest
// first, as far as these providers can be asked: what is Done completes the job
// (OnComplete included) if it keeps the contract, what is Failed, or NotStarted
// after the grace, fails the attempt; all else stays unknown, also an answer that
// does not keep the contract, for it may be of an older release. It never calls
// another provider: that is for a [Runner.Run] of the job.
//
// An attempt about which nothing was found out is asked about less and less
// often, after ten seconds at first and up to once an hour, so that the oldest do not keep the others waiting.
// The error is ctx's, the store's, or what was refused in completing, such as by
// OnComplete. A panic of a provider or of OnComplete is such an error: the pass
// goes on.
func (r *Runner) Reconcile(ctx context.Context, o ReconcileOptions) (Pass, error) {
	if o.Limit <= 0 {
		o.Limit = 100
	}
	if o.Timeout <= 0 {
		o.Timeout = r.c.Timeout
	}
	var names []string
	for i, p := range r.c.Providers {
		if _, ok := provider.As[provider.Resolver](p); ok {
			names = append(names, r.routes[i].Name)
		}
	}
	var pass Pass
	var refused error
	for i, name := range names {
		// Each gets its share of what is left, so that one with many doubts leaves
		// some to the others.
		left := o.Limit - pass.Asked
		share := (left + len(names) - i - 1) / (len(names) - i)
		err := r.reconcile(ctx, name, o, &pass, pass.Asked+share)
		if ctx.Err() != nil {
			return pass, errors.Join(refused, context.Cause(ctx))
		}
		refused = errors.Join(refused, err)
	}
	return pass, refused
}

// reconcile asks about one provider's attempts, until so many were asked about
// in all.
func (r *Runner) reconcile(ctx context.Context, name string, o ReconcileOptions, pass *Pass, limit int) (refused error) {
	f := onejob.Filter{Kind: r.c.Kind, Provider: name, States: []onejob.State{onejob.StateUnknown, onejob.StateDetached}}
	for entry, err := range r.op.Attempts(ctx, f) {
		a := entry.Attempt
		switch {
		case err != nil:
			return errors.Join(refused, err)
		case ctx.Err() != nil:
			return refused
		case a.State == onejob.StateDetached && (entry.Job.State != onejob.JobOpen || !r.overdue(a)):
			continue // a race that is decided, or going on
		case pass.Asked >= limit:
			pass.Later++
			return refused
		case !r.asked.due(a.ID, r.c.Now()):
			pass.Later++
			continue
		}
		pass.Asked++
		r.asked.again(a.ID, r.c.Now())
		over, err := r.ask(ctx, o.Timeout, a.ID)
		if over {
			pass.Ended++
		} else {
			pass.Open++
		}
		if err != nil {
			refused = errors.Join(refused, err)
			if errors.Is(err, onejob.ErrUnavailable) {
				return refused
			}
		}
		if o.Progress != nil {
			o.Progress(*pass)
		}
	}
	return refused
}

// ask puts one question and writes the answer. It reports whether the attempt is
// in doubt no more.
func (r *Runner) ask(ctx context.Context, timeout time.Duration, id onejob.AttemptID) (over bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("onejob: a panic while an attempt was asked about", "attempt", string(id), "stack", string(debug.Stack()))
			over, err = false, fmt.Errorf("failover: attempt %s: a panic (%T) while it was asked about", id, v)
		}
	}()
	job, a, err := r.jobs.GetAttempt(ctx, id)
	switch {
	case errors.Is(err, onejob.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	case a.State != onejob.StateUnknown && a.State != onejob.StateDetached:
		return true, nil // somebody else has ended it
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	f := r.find(asking, job, a)
	if !f.known {
		_, err := r.jobs.MarkUnknown(ctx, a, f.err) // the first cause stands
		return false, unlessEnded(err)
	}
	if _, err := r.write(ctx, a, f); unlessEnded(err) != nil {
		return false, err
	}
	_, a, err = r.jobs.GetAttempt(ctx, id)
	return err == nil && a.State != onejob.StateUnknown && a.State != onejob.StateDetached, unlessEnded(err)
}

// unlessEnded is nil where somebody else ended the attempt first: that is as
// good.
func unlessEnded(err error) error {
	for _, ended := range []error{onejob.ErrLateResult, onejob.ErrAttemptEnded, onejob.ErrResultMismatch, onejob.ErrNotFound} {
		if errors.Is(err, ended) {
			return nil
		}
	}
	return err
}

// ReconcileEvery makes a pass about every so often, at random moments between
// half of that and one and a half, so that many processes do not ask at once.
// It returns when ctx ends, with its cause. Errors of a pass are logged, and the
// next one comes.
//
// It is for a process by itself: each that calls it asks. Where several share a
// database give [Runner.Reconcile] to a loop of package maintenance, which has one
// of them ask per interval, and counts.
func (r *Runner) ReconcileEvery(ctx context.Context, every time.Duration, o ReconcileOptions) error {
	if every <= 0 {
		return errors.New("failover: every must be positive")
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every/2 + rand.N(every)):
		}
		pass, err := r.Reconcile(ctx, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.log.Error("onejob: a look at unknown attempts did not end well", "error", err.Error(), "asked", pass.Asked)
		}
	}
}
