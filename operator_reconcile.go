package onejob

import (
	"context"
	"errors"
)

// Reconcile asks about unknown attempts that match f, oldest first. ask only
// looks, by the attempt's ExternalRef or ProviderKey, and answers as a [Call]
// does: a result completes the job (OnComplete included), an error marked with
// [NoEffect] fails the attempt, and any other error leaves it unknown. A look-up
// that cannot dial proves nothing of the attempt: here only the mark counts. It
// returns how many are left unknown.
//
// Filter.States may ask for detached attempts too. A started one is not asked
// about: its call may not have reached the provider yet. An error of the store
// ends the walk; so does the end of ctx, with its error.
func (o *Operator) Reconcile(ctx context.Context, f Filter, ask Call) (unknown int, err error) {
	const op = "Reconcile"
	if ask == nil {
		return 0, named(op, invalid("ask", "is required"))
	}
	if len(f.States) == 0 {
		f.States = []State{StateUnknown}
	}
	for _, state := range f.States {
		if f.Late || state != StateUnknown && state != StateDetached {
			return 0, named(op, invalid("Filter.States", "may hold unknown and detached only"))
		}
	}
	for e, err := range o.Attempts(ctx, f) {
		if err != nil {
			return unknown, renamed(op, err)
		}
		if ctx.Err() != nil {
			return unknown, context.Cause(ctx)
		}
		left, err := o.reconcile(ctx, op, e.Attempt, ask)
		if err != nil {
			return unknown, err
		}
		if left {
			unknown++
		}
	}
	return unknown, nil
}

// reconcile asks about one attempt, as it stands now: the page it came from
// may be old. It reports whether the attempt is left unknown.
func (o *Operator) reconcile(ctx context.Context, op string, listed Attempt, ask Call) (left bool, err error) {
	job, a, err := o.jobs.GetAttempt(ctx, listed.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, renamed(op, err)
	case a.State != StateUnknown && a.State != StateDetached:
		return false, nil
	}
	result, err := ask(ctx, job, a)
	if err == nil {
		_, err = o.jobs.Complete(ctx, a, result)
	} else {
		if ctx.Err() != nil {
			return a.State == StateUnknown, context.Cause(ctx)
		}
		marked := proofIn(err) == markProof
		left = a.State == StateUnknown && !marked
		if marked {
			_, err = o.jobs.Fail(ctx, a, err)
		} else {
			_, err = o.jobs.MarkUnknown(ctx, a, err)
		}
	}
	// Somebody else ended it first: that is as good.
	if errors.Is(err, ErrLateResult) || errors.Is(err, ErrAttemptEnded) || errors.Is(err, ErrResultMismatch) {
		return false, nil
	}
	return left, renamed(op, err)
}
