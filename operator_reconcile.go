package onejob

import (
	"context"
	"errors"
)

// Reconcile asks about unknown attempts that match f, oldest first. ask only
// looks, by the attempt's ExternalRef or ProviderKey, and answers as a [Call]
// does: a result completes the job (OnComplete included), an error marked with
// [NoEffect] fails the attempt, and any other error leaves it unknown; so does
// no result and no error. A look-up that cannot dial proves nothing of the
// attempt: here only the mark counts. It returns how many are left unknown.
//
// MIND WHAT "NOT FOUND" PROVES. An attempt is asked about as soon as its
// deadline has passed, and its request may still be on the way. Mark a 404 with
// NoEffect only if the provider cannot receive that request any more: set
// Filter.Before well in the past, or have the provider void the key.
//
// Of the attempts that f selects unknown ones are asked about, and detached ones
// if Filter.States says so; a started one is not, for its call may not have
// reached the provider yet. ask gets a context that ends after the attempt's
// timeout, or with ctx. Where OnComplete refuses, or a result is over the limit,
// the attempt is left as it was and the walk goes on; those errors come back
// joined. An error of the store ends the walk; so does the end of ctx, with its
// error.
func (o *Operator) Reconcile(ctx context.Context, f Filter, ask Call) (unknown int, err error) {
	const op = "Reconcile"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
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
	var refused []error
	for entry, err := range o.Attempts(ctx, f) {
		if err != nil {
			return unknown, withRefused(renamed(op, err), refused)
		}
		if ctx.Err() != nil {
			return unknown, withRefused(context.Cause(ctx), refused)
		}
		w.host(true)
		left, err := o.reconcile(ctx, op, entry.Attempt, ask)
		w.host(false)
		if left {
			unknown++
		}
		switch {
		case err == nil:
		case lost(err) || ctx.Err() != nil:
			return unknown, withRefused(err, refused)
		default:
			var e *Error
			if errors.As(err, &e) && e.Attempt == nil {
				e.Job, e.Attempt = entry.Job, &entry.Attempt
			}
			refused = append(refused, err)
		}
	}
	return unknown, errors.Join(refused...)
}

// withRefused adds what was refused on the way.
func withRefused(err error, refused []error) error {
	if len(refused) == 0 {
		return err
	}
	return errors.Join(append(refused, err)...)
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
	unknown := a.State == StateUnknown
	actx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	result, err := ask(actx, job, a)
	switch {
	case err == nil && result == nil:
		return unknown, nil
	case err == nil:
		_, err = o.jobs.Complete(ctx, a, result)
		left = unknown && err != nil
	case ctx.Err() != nil:
		return unknown, context.Cause(ctx)
	case proofIn(err) == markProof:
		_, err = o.jobs.Fail(ctx, a, err)
		left = unknown && err != nil
	default:
		var rec Record
		rec, err = o.jobs.doubt(ctx, op, a, SettleParams{To: StateUnknown, Cause: cleanText(err.Error())})
		left = err != nil && unknown || err == nil && standing(rec, a).State == StateUnknown
	}
	// Somebody else ended it first: that is as good.
	if errors.Is(err, ErrLateResult) || errors.Is(err, ErrAttemptEnded) || errors.Is(err, ErrResultMismatch) {
		return false, nil
	}
	return left, renamed(op, err)
}
