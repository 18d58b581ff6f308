package model

import "github.com/onejob-go/onejob"

// Fail ends an attempt with an error of its call: with proof of no effect it
// has failed, with anything else it is unknown.
func (w *World) Fail(id onejob.AttemptID, proof bool, cause string) Answer {
	if cause == "" {
		return invalid("Fail", "cause")
	}
	if proof {
		return w.settle("Fail", id, onejob.StateFailed, cause, nil)
	}
	return w.settle("Fail", id, onejob.StateUnknown, cause, nil)
}

// MarkUnknown records a doubt.
func (w *World) MarkUnknown(id onejob.AttemptID, cause string) Answer {
	return w.settle("MarkUnknown", id, onejob.StateUnknown, cause, nil)
}

// Decide is Refute, CancelAttempt or DetachAttempt, by the state it asks for.
func (w *World) Decide(op string, id onejob.AttemptID, to onejob.State, d onejob.Decision) Answer {
	if field := badDecision(d); field != "" {
		return invalid(op, field)
	}
	return w.settle(op, id, to, "", &d)
}

func (w *World) settle(op string, id onejob.AttemptID, to onejob.State, cause string, d *onejob.Decision) Answer {
	j, a := w.byAttempt(id)
	switch {
	case a == nil && purged(j):
		return w.refusal(op, j, nil, onejob.ErrAttemptEnded)
	case a == nil:
		return notFound(op)
	case !a.canWin() && a.stored != to:
		return w.refusal(op, j, a, onejob.ErrAttemptEnded)
	case !a.canWin():
		return Answer{Job: w.view(j)} // it was said before
	}
	if d != nil && a.stored != to {
		a.decision = *d
	}
	switch to {
	case onejob.StateUnknown:
		if a.stored != onejob.StateDetached {
			a.stored = to
		}
		if a.cause == "" {
			a.cause = cause
		}
	case onejob.StateDetached:
		a.stored = to
	default:
		a.stored, a.ended = to, w.Now
		if cause != "" {
			a.cause = cause
		}
	}
	return Answer{Job: w.view(j)}
}

// Extend moves the deadline of an attempt that is under way, never back.
func (w *World) Extend(id onejob.AttemptID, d int64) Answer {
	const op = "Extend"
	if d <= 0 {
		return invalid(op, "d")
	}
	j, a := w.byAttempt(id)
	switch {
	case a == nil && purged(j):
		return w.refusal(op, j, nil, onejob.ErrAttemptEnded)
	case a == nil:
		return notFound(op)
	case w.state(a) == onejob.StateUnknown:
		return w.refusal(op, j, a, onejob.ErrInDoubt)
	case w.state(a) != onejob.StateStarted:
		return w.refusal(op, j, a, onejob.ErrAttemptEnded)
	}
	if w.Now+d > a.deadline {
		a.deadline, a.timeout = w.Now+d, d
	}
	return Answer{Attempt: w.viewAttempt(a)}
}

// SetExternalRef keeps the provider's handle, once.
func (w *World) SetExternalRef(id onejob.AttemptID, ref string) Answer {
	const op = "SetExternalRef"
	j, a := w.byAttempt(id)
	switch {
	case a == nil && purged(j):
		return w.refusal(op, j, nil, onejob.ErrAttemptEnded)
	case a == nil:
		return notFound(op)
	case a.ref == ref: // it was said before, also of one that has ended since
	case a.ref != "":
		no := w.refusal(op, j, a, onejob.ErrInvalid)
		no.Field = "ref"
		return no
	case !a.canWin():
		return w.refusal(op, j, a, onejob.ErrAttemptEnded)
	}
	a.ref = ref
	return Answer{Attempt: w.viewAttempt(a)}
}

// CancelJob withdraws the intent. Its attempts stay as they are.
func (w *World) CancelJob(id onejob.JobID, d onejob.Decision) Answer {
	const op = "CancelJob"
	if field := badDecision(d); field != "" {
		return invalid(op, field)
	}
	j := w.byID(id)
	switch {
	case j == nil:
		return notFound(op)
	case j.state == onejob.JobCompleted:
		return w.refusal(op, j, j.winner, onejob.ErrCompleted)
	case j.state == onejob.JobOpen:
		j.state, j.ended, j.decision = onejob.JobCanceled, w.Now, d
		j.version++
	}
	return Answer{Job: w.view(j)}
}

// purged tells of an attempt that is not there that it may have been: what was
// deleted had ended.
func purged(j *job) bool { return j != nil && j.purged != 0 }
