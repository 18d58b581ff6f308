package model

import "github.com/onejob-go/onejob"

// Outcome is how a call ends.
type Outcome string

// The outcomes.
const (
	Succeeds Outcome = "succeeds"
	NoEffect Outcome = "proves no effect"
	Fails    Outcome = "fails"
	Panics   Outcome = "panics"
	Silent   Outcome = "returns nothing" // a look-up's; a call has then succeeded
)

// Call is what a provider does with an attempt. Meddle is what others do in
// the meantime.
type Call struct {
	Outcome Outcome
	Result  []byte
	Meddle  func(id onejob.AttemptID)
}

// Do is the whole way: the completed job whoever won, or why not.
func (w *World) Do(in Intent, try onejob.Try, id onejob.JobID, own string, call Call) Answer {
	const op = "Do"
	_, before := w.byAttempt(try.ID)
	start := w.Start(op, in, try, id, own)
	retired := start.Is == Names(onejob.ErrKeyRetired)
	if start.Is != "" && start.Job.State == string(onejob.JobCompleted) && !retired {
		return Answer{Job: start.Job}
	}
	if start.Is != "" {
		return start
	}
	if before != nil {
		// Whoever began it may have called the provider.
		j, a := before.job, before
		if j.state == onejob.JobCompleted {
			return Answer{Job: w.view(j)}
		}
		no := w.refusal(op, j, a, onejob.ErrInDoubt)
		no.Job = w.view(j)
		return no
	}
	j, a := w.byAttempt(onejob.AttemptID(start.Attempt.ID))
	call.Meddle(a.id)
	answer := w.settleCall(op, j, a, call)
	answer.Calls = 1
	if answer.Is != "" {
		answer.Job = w.view(j)
	}
	return answer
}

func (w *World) settleCall(op string, j *job, a *attempt, call Call) Answer {
	switch call.Outcome {
	case Panics:
		w.MarkUnknown(a.id, Some)
		return Answer{Panicked: true}
	case NoEffect, Fails:
		no := w.Fail(a.id, call.Outcome == NoEffect, ErrCall.Error())
		switch {
		case j.state == onejob.JobCompleted:
			return Answer{Job: w.view(j)}
		case no.Is != "":
			return w.refusal(op, j, a, onejob.ErrAttemptEnded, ErrCall)
		case a.stored == onejob.StateFailed:
			return w.refusal(op, j, a, onejob.ErrFailed, ErrCall)
		}
		return w.refusal(op, j, a, onejob.ErrInDoubt, ErrCall)
	}
	v, _, _, answer := w.swap(a.id, a.version, call.Result, true)
	switch {
	case v == hookRefused:
		w.MarkUnknown(a.id, Some)
		return answer.and(w.refusal(op, j, a, onejob.ErrInDoubt, ErrHook))
	case j.state == onejob.JobCompleted:
		answer.Job = w.view(j)
		return answer
	}
	return w.refusal(op, j, a, onejob.ErrLateResult)
}

// Reconcile asks about the attempts in doubt, oldest first.
func (w *World) Reconcile(f Filter, call Call) Answer {
	const op = "Reconcile"
	if len(f.States) == 0 {
		f.States = []onejob.State{onejob.StateUnknown}
	}
	for _, state := range f.States {
		if state != onejob.StateUnknown && state != onejob.StateDetached {
			return invalid(op, "Filter.States") // its call may not have reached the provider yet
		}
	}
	var answer Answer
	var refused []error
	for _, a := range w.match(f) {
		if w.state(a) == onejob.StateStarted || !a.canWin() {
			continue
		}
		answer.Calls++
		switch call.Outcome {
		case Succeeds:
			v, _, _, swapped := w.swap(a.id, a.version, call.Result, true)
			answer.Hooks += swapped.Hooks
			if swapped.Hooks > 0 {
				answer.Hooked = swapped.Hooked
			}
			if v == hookRefused {
				refused = append(refused, ErrHook)
			}
		case NoEffect:
			w.settle(op, a.id, onejob.StateFailed, ErrCall.Error(), nil)
		case Fails:
			w.settle(op, a.id, onejob.StateUnknown, ErrCall.Error(), nil)
		}
		if w.state(a) == onejob.StateUnknown {
			answer.N++
		}
	}
	answer.Is = Names(refused...)
	return answer
}
