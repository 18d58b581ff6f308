package model

import (
	"github.com/onejob-go/onejob"
)

// Create stores the intent under the ID unless the owner has the key.
func (w *World) Create(op string, in Intent, id onejob.JobID) Answer {
	j, created, refused := w.create(op, in, id)
	if refused != nil {
		return *refused
	}
	return Answer{Job: w.view(j), Created: created}
}

// create refuses other input before anything else, in every state of the job.
func (w *World) create(op string, in Intent, id onejob.JobID) (j *job, created bool, refused *Answer) {
	if in.Bad != "" {
		no := invalid(op, in.Bad)
		return nil, false, &no
	}
	j = w.byKey(in.Owner, in.Key)
	switch {
	case j == nil:
		j = &job{id: id, intent: in, state: onejob.JobOpen, version: 1, created: w.Now}
		w.jobs = append(w.jobs, j)
		return j, true, nil
	case j.intent.Class != in.Class:
		no := w.refusal(op, j, nil, onejob.ErrKeyConflict)
		return nil, false, &no
	case j.purged != 0:
		no := w.refusal(op, j, nil, onejob.ErrKeyRetired)
		return j, false, &no
	}
	return j, false, nil
}

// Begin begins an attempt, with newID unless the try names one.
func (w *World) Begin(op, owner string, id onejob.JobID, try onejob.Try, newID onejob.AttemptID) Answer {
	if field := badTry(try); field != "" {
		return invalid(op, field)
	}
	if try.ID != "" && try.ID.Job() != id {
		return invalid(op, "Try.ID") // it says so itself: nothing is looked up
	}
	j := w.byID(id)
	if j == nil || j.intent.Owner != owner {
		return notFound(op)
	}
	return w.begin(op, j, try, newID)
}

func badTry(try onejob.Try) string {
	switch {
	case try.Provider == "":
		return "Try.Provider"
	case try.Timeout <= 0:
		return "Try.Timeout"
	}
	return ""
}

func (w *World) begin(op string, j *job, try onejob.Try, newID onejob.AttemptID) Answer {
	if try.ID != "" {
		newID = try.ID
		if _, a := w.byAttempt(try.ID); a != nil {
			return w.again(op, a, try)
		}
	}
	open := j.open()
	switch {
	case j.state == onejob.JobCanceled:
		return w.refusal(op, j, open, onejob.ErrJobCanceled)
	case j.state == onejob.JobCompleted:
		return w.refusal(op, j, j.winner, onejob.ErrCompleted)
	case open != nil && w.state(open) == onejob.StateUnknown:
		return w.refusal(op, j, open, onejob.ErrAttemptOpen, onejob.ErrInDoubt)
	case open != nil:
		return w.refusal(op, j, open, onejob.ErrAttemptOpen)
	case len(j.attempts) >= w.MaxAttempts:
		return w.refusal(op, j, nil, onejob.ErrTooManyAttempts)
	}
	timeout := try.Timeout.Microseconds()
	a := &attempt{
		job: j, id: newID, number: len(j.attempts) + 1, provider: try.Provider, stored: onejob.StateStarted,
		version: j.version, key: j.providerKey(try.Provider), timeout: timeout,
		started: w.Now, deadline: w.Now + timeout,
	}
	j.attempts = append(j.attempts, a)
	return Answer{Attempt: w.viewAttempt(a)}
}

// again answers a begin that was made before.
func (w *World) again(op string, a *attempt, try onejob.Try) Answer {
	if a.provider != try.Provider {
		no := w.refusal(op, a.job, nil, onejob.ErrInvalid)
		no.Field = "Try.ID"
		return no
	}
	switch w.state(a) {
	case onejob.StateStarted:
		return Answer{Attempt: w.viewAttempt(a)}
	case onejob.StateUnknown:
		return w.refusal(op, a.job, a, onejob.ErrInDoubt)
	}
	return w.refusal(op, a.job, a, onejob.ErrAttemptEnded)
}

// Start is Create and Begin in one commit. The job stands beside any refusal
// as long as one with this input exists.
//
// A Start whose reply was lost is repeated with the attempt's ID, which names
// the job too: that job is made if it never came to be. Where another caller
// has made one meanwhile, the attempt is one of that.
func (w *World) Start(op string, in Intent, try onejob.Try, id onejob.JobID, own string) Answer {
	if in.Bad != "" {
		return invalid(op, in.Bad)
	}
	if field := badTry(try); field != "" {
		return invalid(op, field)
	}
	var named *job
	if try.ID != "" {
		id, own = try.ID.Job(), string(try.ID[len(try.ID)-len(own):])
		named = w.byID(id)
	}
	holder := w.byKey(in.Owner, in.Key)
	if holder == nil && named != nil {
		return invalid(op, "Try.ID")
	}
	j, _, refused := w.create(op, in, id)
	if refused != nil {
		if j != nil {
			refused.Job = w.view(j)
		}
		return *refused
	}
	if named != nil && named != j {
		no := w.refusal(op, j, nil, onejob.ErrInvalid)
		no.Field, no.Job = "Try.ID", w.view(j)
		return no
	}
	if try.ID != "" {
		try.ID = onejob.AttemptID(string(j.id) + "-" + own)
	}
	answer := w.begin(op, j, try, onejob.AttemptID(string(j.id)+"-"+own))
	answer.Job = w.view(j)
	return answer
}
