package onejob

import (
	"context"
	"time"
)

// Fail ends the attempt with an error of its call, and returns the job as it
// stands. The attempt has failed only if cause proves that nothing happened: a
// [NoEffect] mark, or a failure to resolve a name or to dial, and no context
// error in cause's tree. Every other cause leaves it unknown and the job
// blocked: look at Job.Status. So a host may call Fail on any error.
//
// A failure to dial proves nothing of a request sent before it, and clients
// send more than one: net/http repeats a POST that carries an Idempotency-Key
// header when its connection closes without an answer, and follows redirects.
// So pass the context of Attempt.Context, or one made from it: if net/http
// wrote a request under it, only a [NoEffect] mark makes the attempt failed.
// With other clients, and under other contexts, mind that yourself: call
// MarkUnknown when anything was sent before the dial.
//
// Fail also works on a context that has ended. Knowledge beats doubt: an
// unknown attempt may still be failed with proof. On one that has ended
// otherwise the error is ErrAttemptEnded; a nil cause is ErrInvalid.
func (s *Jobs) Fail(ctx context.Context, a Attempt, cause error) (Job, error) {
	const op = "Fail"
	rec, err := s.fail(ctx, op, a, cause, cause != nil && proves(ctx, cause))
	return rec.Job, err
}

func (s *Jobs) fail(ctx context.Context, op string, a Attempt, cause error, proven bool) (rec Record, err error) {
	ctx, w := s.observe(ctx, "Fail")
	if w != nil {
		defer w.ends(&rec.Job, &err)
	}
	if cause == nil {
		return Record{}, named(op, invalid("cause", "is required: an attempt without an error is completed"))
	}
	to := StateUnknown
	if proven {
		to = StateFailed
	}
	return s.settleTo(ctx, op, a, SettleParams{To: to, Cause: cleanText(cause.Error())})
}

// MarkUnknown records that the attempt may or may not have taken effect, and
// returns the job as it stands: blocked. The first cause stands; nil is
// allowed. A detached attempt keeps its state and gets the cause.
//
// It also works on a context that has ended. On an attempt that has ended the
// error is ErrAttemptEnded.
func (s *Jobs) MarkUnknown(ctx context.Context, a Attempt, cause error) (Job, error) {
	p := SettleParams{To: StateUnknown}
	if cause != nil {
		p.Cause = cleanText(cause.Error())
	}
	rec, err := s.doubt(ctx, "MarkUnknown", a, p)
	return rec.Job, err
}

func (s *Jobs) doubt(ctx context.Context, op string, a Attempt, p SettleParams) (rec Record, err error) {
	ctx, w := s.observe(ctx, "MarkUnknown")
	if w != nil {
		defer w.ends(&rec.Job, &err)
	}
	return s.settleTo(ctx, op, a, p)
}

// settleTo and settleOnce return the job with the attempt as it then stands.
func (s *Jobs) settleTo(ctx context.Context, op string, a Attempt, p SettleParams) (Record, error) {
	if err := s.mayTouch(ctx, op, a); err != nil {
		return Record{}, err
	}
	p.ID, p.Clock = a.ID, s.clock
	defer s.mayEndWait(a.ID.Job())
	return settling(ctx, tried(s, func(ctx context.Context) (Record, error) { return s.settleOnce(ctx, op, p) }))
}

func (s *Jobs) settleOnce(ctx context.Context, op string, p SettleParams) (Record, error) {
	for range rounds {
		rec, applied, err := s.store.Settle(ctx, p)
		if err != nil {
			return Record{}, unavailable(op, err)
		}
		if applied {
			s.observing(ctx).saw(rec.Attempt, true)
			return rec, nil
		}
		if rec, err = s.attemptRecord(ctx, op, p.ID); err != nil {
			return Record{}, err
		}
		s.observing(ctx).saw(rec.Attempt, false)
		switch a := rec.Attempt; {
		case a != nil && a.State == p.To:
			return rec, nil
		case a == nil || a.State.final():
			return rec, &Error{Op: op, Err: ErrAttemptEnded, Job: rec.Job, Attempt: a}
		}
	}
	return Record{}, unavailable(op, errUndecided)
}

// Extend moves the deadline of a started attempt to d from now by the store's
// clock, and never to an earlier time. An attempt past its deadline is unknown
// and cannot be extended (ErrInDoubt); one that has ended or is detached is
// ErrAttemptEnded. A context made by Attempt.Context is not extended: make
// another from the attempt returned.
func (s *Jobs) Extend(ctx context.Context, a Attempt, d time.Duration) (now Attempt, err error) {
	const op = "Extend"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	if d <= 0 {
		return Attempt{}, named(op, invalid("d", "must be positive"))
	}
	return s.amend(ctx, op, a, AmendParams{Extend: wholeMicros(d)})
}

// SetExternalRef keeps the provider's own handle on the attempt, up to 255
// bytes, so that an attempt in doubt can be looked up there. It is set once,
// while the attempt is open or detached: another value is ErrInvalid, the same
// one succeeds. On an attempt that has ended the error is ErrAttemptEnded.
func (s *Jobs) SetExternalRef(ctx context.Context, a Attempt, ref string) (now Attempt, err error) {
	const op = "SetExternalRef"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	if err := checkText("ref", ref, 0, maxExternalRef); err != nil {
		return Attempt{}, named(op, err)
	}
	return s.amend(ctx, op, a, AmendParams{ExternalRef: ref})
}

func (s *Jobs) amend(ctx context.Context, op string, a Attempt, p AmendParams) (Attempt, error) {
	if err := s.mayTouch(ctx, op, a); err != nil {
		return Attempt{}, err
	}
	p.ID, p.Clock = a.ID, s.clock
	return deciding(ctx, op, tried(s, func(ctx context.Context) (Attempt, error) { return s.amendOnce(ctx, op, p) }))
}

func (s *Jobs) amendOnce(ctx context.Context, op string, p AmendParams) (Attempt, error) {
	for range rounds {
		if p.Extend > 0 || p.ExternalRef != "" {
			rec, applied, err := s.store.Amend(ctx, p)
			if err != nil {
				return Attempt{}, unavailable(op, err)
			}
			if applied {
				s.observing(ctx).stands(rec.Job)
				s.observing(ctx).saw(rec.Attempt, true)
				return *rec.Attempt, nil
			}
		}
		rec, err := s.attemptRecord(ctx, op, p.ID)
		if err != nil {
			return Attempt{}, err
		}
		s.observing(ctx).stands(rec.Job)
		s.observing(ctx).saw(rec.Attempt, false)
		if decided, err := amended(op, rec, p); decided {
			if err != nil {
				return Attempt{}, err
			}
			return *rec.Attempt, nil
		}
	}
	return Attempt{}, unavailable(op, errUndecided)
}

// amended tells what the record means for an amendment that was not applied.
func amended(op string, rec Record, p AmendParams) (decided bool, err error) {
	a := rec.Attempt
	refusal := &Error{Op: op, Err: ErrAttemptEnded, Job: rec.Job, Attempt: a}
	switch {
	case a == nil:
		return true, refusal
	case p.Extend > 0:
		if a.State == StateStarted {
			return false, nil
		}
		if a.State == StateUnknown {
			refusal.Err = ErrInDoubt
		}
		return true, refusal
	case a.ExternalRef == p.ExternalRef:
		return true, nil
	case a.ExternalRef != "":
		return true, &Error{Op: op, Err: ErrInvalid, Job: rec.Job, Attempt: a,
			Field: "ref", rule: "differs from the one that the attempt has: it is set once"}
	case a.State.final():
		return true, refusal
	}
	return false, nil
}

// attemptRecord reads why a step on an attempt was not applied. Record.Attempt
// is nil only where purge has deleted it.
func (s *Jobs) attemptRecord(ctx context.Context, op string, id AttemptID) (Record, error) {
	rec, err := s.store.Find(ctx, FindParams{Attempt: id, AnyOwner: true, Clock: s.clock})
	if err != nil {
		return Record{}, unavailable(op, err)
	}
	if rec.Job.ID == "" || rec.Attempt == nil && rec.Job.PurgedAt.IsZero() {
		return Record{}, &Error{Op: op, Err: ErrNotFound}
	}
	return rec, nil
}

// mayTouch refuses an attempt that cannot be one, and a context of a
// transaction under which this would wait for ever.
func (s *Jobs) mayTouch(ctx context.Context, op string, a Attempt) error {
	if err := checkAttempt(a); err != nil {
		return named(op, err)
	}
	return s.outsideTx(ctx, op)
}
