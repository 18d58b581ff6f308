package model

import (
	"crypto/sha256"

	"github.com/onejob-go/onejob"
)

// verdict is what became of a result that was brought.
type verdict int

const (
	won verdict = iota
	wonBefore
	mismatch
	lost
	hookRefused
	none // there is nothing to complete
)

// swap is the one place where a job is completed.
func (w *World) swap(id onejob.AttemptID, version int64, result []byte, hook bool) (v verdict, j *job, a *attempt, answer Answer) {
	j, a = w.byAttempt(id)
	switch {
	case j == nil, a == nil && j.purged == 0:
		return none, j, a, answer
	case a == nil:
		return lost, j, a, answer
	case j.winner == a && sha256.Sum256(j.result) == sha256.Sum256(result):
		return wonBefore, j, a, answer
	case j.winner == a:
		return mismatch, j, a, answer
	case j.state != onejob.JobOpen || version != j.version || !a.canWin():
		w.evidence(a, result)
		return lost, j, a, answer
	}
	oldJob, oldAttempt := *j, *a
	j.state, j.winner, j.result, j.ended = onejob.JobCompleted, a, result, w.Now
	j.version++
	a.stored, a.ended = onejob.StateSucceeded, w.Now
	if hook {
		answer.Hooks, answer.Hooked = 1, w.view(j)
		if w.Refuse {
			*j, *a = oldJob, oldAttempt
			return hookRefused, j, a, answer
		}
	}
	return won, j, a, answer
}

// evidence keeps the first result that lost, as size and digest.
func (w *World) evidence(a *attempt, result []byte) {
	if a.canWin() {
		a.stored, a.ended = onejob.StateLate, w.Now
	}
	if a.lateAt == 0 {
		a.lateAt, a.lateSize, a.lateDigest = w.Now, int64(len(result)), sha256.Sum256(result)
	}
}

// Complete brings a result by the attempt with the ID, which carries the
// version it read.
func (w *World) Complete(op string, id onejob.AttemptID, version int64, result []byte, hook bool) Answer {
	v, j, a, answer := w.swap(id, version, result, hook)
	switch v {
	case none:
		return notFound(op)
	case won, wonBefore:
		answer.Job = w.view(j)
		return answer
	case mismatch:
		return answer.and(w.refusal(op, j, a, onejob.ErrResultMismatch))
	case hookRefused:
		return answer.and(hookRefusal(op, a))
	}
	if j.winner != nil {
		a = j.winner
	}
	return answer.and(w.refusal(op, j, a, onejob.ErrLateResult))
}

// and keeps what the hook got beside the refusal.
func (a Answer) and(refusal Answer) Answer {
	refusal.Hooks, refusal.Hooked = a.Hooks, a.Hooked
	return refusal
}

// Confirm completes the job by the attempt, on an operator's word.
func (w *World) Confirm(id onejob.AttemptID, result []byte, d onejob.Decision) Answer {
	const op = "Confirm"
	if field := badDecision(d); field != "" {
		return invalid(op, field)
	}
	j, a := w.byAttempt(id)
	if j == nil || a == nil && j.purged == 0 {
		return notFound(op)
	}
	var before onejob.Decision
	if a != nil {
		before = a.decision
		if a.canWin() {
			a.decision = d // also where it loses: the word ends it
		}
	}
	v, _, _, answer := w.swap(id, j.version, result, true)
	switch v {
	case won, wonBefore:
		answer.Job = w.view(j)
		return answer
	case mismatch:
		return answer.and(w.refusal(op, j, a, onejob.ErrResultMismatch))
	case hookRefused:
		a.decision = before
		return answer.and(hookRefusal(op, a))
	}
	switch j.state {
	case onejob.JobCompleted:
		return w.refusal(op, j, j.winner, onejob.ErrCompleted)
	case onejob.JobCanceled:
		return w.refusal(op, j, a, onejob.ErrJobCanceled)
	}
	return w.refusal(op, j, a, onejob.ErrAttemptEnded)
}

func badDecision(d onejob.Decision) string {
	switch {
	case d.By == "":
		return "Decision.By"
	case d.Reason == "":
		return "Decision.Reason"
	}
	return ""
}

// hookRefusal names the attempt and no more: it stands as it was.
func hookRefusal(op string, a *attempt) Answer {
	return Answer{Is: Names(ErrHook), Op: op, ErrAttempt: AttemptView{ID: string(a.id), JobID: string(a.job.id)}}
}
