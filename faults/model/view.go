package model

import "github.com/onejob-go/onejob"

func (w *World) viewAttempt(a *attempt) AttemptView {
	if a == nil {
		return AttemptView{}
	}
	return AttemptView{
		ID: string(a.id), JobID: string(a.job.id), Provider: a.provider, State: string(w.state(a)),
		ProviderKey: a.key, Ref: a.ref, Cause: a.cause, By: a.decision.By, Reason: a.decision.Reason,
		Number: a.number, JobVersion: a.version, Timeout: a.timeout, LateSize: a.lateSize, LateDigest: a.lateDigest,
		Times: [4]int64{a.started, a.deadline, a.ended, a.lateAt},
	}
}

func (w *World) view(j *job) JobView {
	if j == nil {
		return JobView{}
	}
	v := JobView{
		ID: string(j.id), Owner: j.intent.Owner, Key: j.intent.Key, Kind: j.intent.Kind, Target: j.intent.Target,
		Params: string(j.intent.Params), Opaque: j.intent.Opaque, NilResult: true,
		State: string(j.state), Status: string(w.status(j)), Version: j.version,
		By: j.decision.By, Reason: j.decision.Reason,
		Times:   [3]int64{j.created, j.ended, j.purged},
		Attempt: w.viewAttempt(j.shown()),
	}
	if j.purged != 0 {
		v.Params, v.NilParams = "", true
	} else if j.state == onejob.JobCompleted {
		v.Result, v.NilResult = string(j.result), false
	}
	return v
}

// status is what a person sees.
func (w *World) status(j *job) onejob.Status {
	open := j.open()
	switch {
	case j.state == onejob.JobCompleted:
		return onejob.StatusCompleted
	case j.state == onejob.JobCanceled:
		return onejob.StatusCanceled
	case open == nil:
		return onejob.StatusPending
	case w.state(open) == onejob.StateUnknown:
		return onejob.StatusUnknown
	}
	return onejob.StatusRunning
}

func (w *World) viewAll(j *job) []AttemptView {
	var all []AttemptView
	for _, a := range j.attempts {
		all = append(all, w.viewAttempt(a))
	}
	return all
}

// refusal is an answer with what the *Error carries.
func (w *World) refusal(op string, j *job, a *attempt, errs ...error) Answer {
	return Answer{Is: Names(errs...), Op: op, ErrJob: w.view(j), ErrAttempt: w.viewAttempt(a)}
}

func invalid(op, field string) Answer {
	return Answer{Is: Names(onejob.ErrInvalid), Op: op, Field: field}
}

func notFound(op string) Answer { return Answer{Is: Names(onejob.ErrNotFound), Op: op} }

// Get reads a job under an owner.
func (w *World) Get(owner string, id onejob.JobID) Answer {
	if owner == "" {
		return invalid("Get", "owner")
	}
	j := w.byID(id)
	if j == nil || j.intent.Owner != owner {
		return notFound("Get")
	}
	return Answer{Job: w.view(j)}
}

// GetByKey reads the job that holds a key.
func (w *World) GetByKey(owner, key string) Answer {
	if owner == "" {
		return invalid("GetByKey", "owner")
	}
	j := w.byKey(owner, key)
	if j == nil {
		return notFound("GetByKey")
	}
	return Answer{Job: w.view(j)}
}

// GetAttempt reads an attempt and its job.
func (w *World) GetAttempt(id onejob.AttemptID) Answer {
	j, a := w.byAttempt(id)
	if a == nil {
		return notFound("GetAttempt")
	}
	return Answer{Job: w.view(j), Attempt: w.viewAttempt(a)}
}

// Attempts reads the attempts of a job under an owner.
func (w *World) Attempts(owner string, id onejob.JobID) Answer {
	if owner == "" {
		return invalid("Attempts", "owner")
	}
	j := w.byID(id)
	if j == nil || j.intent.Owner != owner {
		return notFound("Attempts")
	}
	return Answer{List: w.viewAll(j)}
}

// OperatorGet reads a job and its attempts, whoever owns it.
func (w *World) OperatorGet(id onejob.JobID) Answer {
	j := w.byID(id)
	if j == nil {
		return notFound("Operator.Get")
	}
	return Answer{Job: w.view(j), List: w.viewAll(j)}
}

// Owner is whose job the attempt's is.
func (w *World) Owner(id onejob.AttemptID) string {
	if j := w.byID(id.Job()); j != nil {
		return j.intent.Owner
	}
	return ""
}
