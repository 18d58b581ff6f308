package onejob

import (
	"context"
	"iter"
	"time"
)

// SaveQualification keeps what a provider has proven, until ttl from now. It
// replaces an earlier one of the same provider, contract, model and fingerprint,
// also where that passed and this has failed: the newest run counts. It returns
// what is stored.
//
// A revocation stands, whatever is saved after it: to have the provider tried
// again, change the contract's or the adapter's revision and with it the
// fingerprint.
func (o *Operator) SaveQualification(ctx context.Context, q Qualification, ttl time.Duration) (saved Qualification, err error) {
	const op = "SaveQualification"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	if err := checkQualification(q, ttl); err != nil {
		return Qualification{}, named(op, err)
	}
	store, err := o.qualifications(ctx, op)
	if err != nil {
		return Qualification{}, err
	}
	saved, err = store.SaveQualification(ctx, q, wholeMicros(ttl), o.jobs.clock)
	if err != nil {
		return Qualification{}, unavailable(op, err)
	}
	return saved, nil
}

// RevokeQualification takes it back. Once it has returned no attempt begins by
// it, in any process; attempts that have begun go on. Repeated, it succeeds, and
// the first name and reason stand. ErrNotFound if there is none.
func (o *Operator) RevokeQualification(ctx context.Context, provider string, r Requirement, d Decision) (q Qualification, err error) {
	const op = "RevokeQualification"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	err = checkText("provider", provider, 1, maxProvider)
	if err == nil {
		err = checkRequirement("Requirement", r)
	}
	if err == nil {
		err = checkDecision(d)
	}
	if err != nil {
		return Qualification{}, named(op, err)
	}
	store, err := o.qualifications(ctx, op)
	if err != nil {
		return Qualification{}, err
	}
	d.Reason = cleanText(d.Reason)
	q, found, err := store.RevokeQualification(ctx, provider, r, d, o.jobs.clock)
	switch {
	case err != nil:
		return Qualification{}, unavailable(op, err)
	case !found:
		return Qualification{}, &Error{Op: op, Err: ErrNotFound}
	}
	return q, nil
}

// Qualifications lists all of them by provider, contract, model and
// fingerprint, a page at a time, so that no rows stay open between two.
func (o *Operator) Qualifications(ctx context.Context) iter.Seq2[Qualification, error] {
	const op = "Qualifications"
	const page = 100
	return func(yield func(Qualification, error) bool) {
		store, err := o.qualifications(ctx, op)
		if err != nil {
			yield(Qualification{}, err)
			return
		}
		var after *Qualification
		for {
			list, err := store.Qualifications(ctx, after, page)
			if err != nil {
				yield(Qualification{}, unavailable(op, err))
				return
			}
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
			if len(list) < page {
				return
			}
			after = &list[len(list)-1]
		}
	}
}

func (o *Operator) qualifications(ctx context.Context, op string) (QualificationStore, error) {
	store, ok := o.jobs.store.(QualificationStore)
	if !ok {
		return nil, &Error{Op: op, Err: ErrUnsupported}
	}
	return store, o.jobs.outsideTx(ctx, op)
}
