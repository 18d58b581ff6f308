package model_test

import (
	"errors"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

func (s *subject) time(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro() + s.offset
}

func (s *subject) viewAttempt(a *onejob.Attempt) model.AttemptView {
	if a == nil {
		return model.AttemptView{}
	}
	return model.AttemptView{
		ID: string(a.ID), JobID: string(a.JobID), Provider: a.Provider, State: string(a.State),
		ProviderKey: a.ProviderKey, Ref: a.ExternalRef, Cause: a.Cause, By: a.By, Reason: a.Reason,
		Number: a.Number, JobVersion: a.JobVersion, Timeout: a.Timeout.Microseconds(),
		LateSize: a.LateSize, LateDigest: a.LateDigest,
		Times: [4]int64{s.time(a.StartedAt), s.time(a.Deadline), s.time(a.EndedAt), s.time(a.LateAt)},
	}
}

func (s *subject) viewJob(j onejob.Job) model.JobView {
	if j.ID == "" {
		return model.JobView{}
	}
	return model.JobView{
		ID: string(j.ID), Owner: j.Owner, Key: j.Key, Kind: j.Kind, Target: j.Target,
		Params: string(j.Params), Opaque: j.Opaque, NilParams: j.Params == nil && !j.PurgedAt.IsZero(), NilResult: j.Result == nil, Result: string(j.Result),
		State: string(j.State), Status: string(j.Status()), Version: j.Version, By: j.By, Reason: j.Reason,
		Times:   [3]int64{s.time(j.CreatedAt), s.time(j.EndedAt), s.time(j.PurgedAt)},
		Attempt: s.viewAttempt(j.Attempt),
	}
}

func (s *subject) views(list []onejob.Attempt) []model.AttemptView {
	var views []model.AttemptView
	for _, a := range list {
		views = append(views, s.viewAttempt(&a))
	}
	return views
}

// answer is what an operation said: its error, and what ran on its way.
func (s *subject) answer(err error) model.Answer {
	a := model.Answer{Is: model.Names(err), Calls: s.calls, Hooks: s.hooks, Hooked: s.hooked}
	var e *onejob.Error
	if errors.As(err, &e) {
		a.Op, a.Field, a.Text = e.Op, e.Field, err.Error()
		a.ErrJob, a.ErrAttempt = s.viewJob(e.Job), s.viewAttempt(e.Attempt)
	}
	return a
}

func (s *subject) job(j onejob.Job, err error) model.Answer {
	a := s.answer(err)
	a.Job = s.viewJob(j)
	return a
}

func (s *subject) attempt(x onejob.Attempt, err error) model.Answer {
	a := s.answer(err)
	if x.ID != "" {
		a.Attempt = s.viewAttempt(&x)
	}
	return a
}

func (s *subject) created(j onejob.Job, created bool, err error) model.Answer {
	a := s.job(j, err)
	a.Created = created
	return a
}
