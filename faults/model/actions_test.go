package model_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"pgregory.net/rapid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

// actions are all operations. A number behind a name makes it more frequent;
// the first and the last by name are drawn most.
func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"create": m.create, "start": m.start, "start 2": m.start, "begin": m.begin, "begin 2": m.begin, "begin 3": m.begin,
		"complete": m.complete, "complete 2": m.complete, "fail": m.failAttempt, "fail 2": m.failAttempt, "doubt": m.markUnknown,
		"extend": m.extend, "reference": m.setRef, "do": m.do, "do 2": m.do, "tx": m.tx,
		"get": m.get, "confirm": m.confirm, "decide": m.decide, "decide 2": m.decide, "decide 3": m.decide, "cancel job": m.cancelJob,
		"list": m.list, "sweep": m.sweep, "sweep 2": m.sweep, "reconcile": m.reconcile, "reconcile 2": m.reconcile, "purge": m.purge, "purge 2": m.purge, "stats": m.stats,
		"overdue": m.overdue, "overdue 2": m.overdue, "time": m.time, "time 2": m.time,
		"hook": m.hook,
	}
	for name, action := range all {
		all[name] = func(t *rapid.T) {
			switch {
			case m.steps >= mostSteps:
			case len(m.held) == 0 && rapid.IntRange(0, 3).Draw(t, "with nothing begun") < 3:
				// Nearly all answers would be that nothing is there.
				m.start(t)
			default:
				action(t)
			}
		}
	}
	return all
}

func (m *machine) time(t *rapid.T) { m.pass(t, passed(t)) }

// overdue lets an attempt begin and time pass, which seldom come together by
// themselves before something else ends the attempt.
func (m *machine) overdue(t *rapid.T) {
	m.start(t)
	m.time(t)
}

// hook turns OnComplete's refusal on or off. It says yes at first.
func (m *machine) hook(t *rapid.T) {
	m.world.Refuse = rapid.Bool().Draw(t, "hook")
	m.story = append(m.story, fmt.Sprintf("   hook refuses: %v", m.world.Refuse))
	for _, s := range m.subjects {
		s.refuse = m.world.Refuse
	}
}

func (m *machine) create(t *rapid.T) {
	in := drawIntent(t)
	m.run(t, "Create "+describe(in),
		func(w *model.World) model.Answer { return w.Create("Create", in, onejob.JobID(m.id)) },
		func(s *subject) model.Answer { return s.created(s.jobs.Create(m.ctx, in.Intent)) })
}

func (m *machine) start(t *rapid.T) {
	in, try := drawIntent(t), m.drawTry(t)
	m.run(t, fmt.Sprintf("Start %s %+v", describe(in), try),
		func(w *model.World) model.Answer { return w.Start("Start", in, try, onejob.JobID(m.id), m.own) },
		func(s *subject) model.Answer {
			j, a, err := s.jobs.Start(m.ctx, in.Intent, try)
			answer := s.attempt(a, err)
			answer.Job = s.viewJob(j)
			return answer
		})
}

func (m *machine) begin(t *rapid.T) {
	job, try := m.drawJob(t), m.drawTry(t)
	job.Owner = often(t, "owner", job.Owner, "eve", "bob")
	m.run(t, fmt.Sprintf("BeginAttempt %s/%s %+v", job.Owner, job.ID, try),
		func(w *model.World) model.Answer {
			return w.Begin("BeginAttempt", job.Owner, job.ID, try, onejob.AttemptID(string(job.ID)+"-"+m.own))
		},
		func(s *subject) model.Answer { return s.attempt(s.jobs.BeginAttempt(m.ctx, job, try)) })
}

func (m *machine) complete(t *rapid.T) {
	a, result := m.drawAttempt(t), drawResult(t)
	a.JobVersion = often(t, "version", a.JobVersion, a.JobVersion+1)
	m.run(t, fmt.Sprintf("Complete %s version %d %q", tail(a.ID), a.JobVersion, result),
		func(w *model.World) model.Answer { return w.Complete("Complete", a.ID, a.JobVersion, result, true) },
		func(s *subject) model.Answer { return s.job(s.jobs.Complete(m.ctx, a, result)) })
}

// causes are errors of calls, and whether they prove that nothing happened.
var causes = []struct {
	err   error
	proof bool
}{
	{onejob.NoEffect(model.ErrCall), true},
	{model.ErrCall, false},
	{onejob.NoEffect(errors.New("refused")), true},
	{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, true},
	{&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset")}, false},
	{onejob.NoEffect(fmt.Errorf("gave up: %w", context.DeadlineExceeded)), false},
	{nil, false},
}

func (m *machine) failAttempt(t *rapid.T) {
	a := m.drawAttempt(t)
	c := oneOf(t, "cause", causes...)
	text := ""
	if c.err != nil {
		text = c.err.Error()
	}
	m.run(t, fmt.Sprintf("Fail %s proof %v: %q", tail(a.ID), c.proof, text),
		func(w *model.World) model.Answer { return w.Fail(a.ID, c.proof, text) },
		func(s *subject) model.Answer { return s.job(s.jobs.Fail(m.ctx, a, c.err)) })
}

func (m *machine) markUnknown(t *rapid.T) {
	a := m.drawAttempt(t)
	cause := oneOf(t, "cause", nil, errors.New("who knows"))
	text := ""
	if cause != nil {
		text = cause.Error()
	}
	m.run(t, fmt.Sprintf("MarkUnknown %s %q", tail(a.ID), text),
		func(w *model.World) model.Answer { return w.MarkUnknown(a.ID, text) },
		func(s *subject) model.Answer { return s.job(s.jobs.MarkUnknown(m.ctx, a, cause)) })
}

func (m *machine) extend(t *rapid.T) {
	a, d := m.drawAttempt(t), granted(t, "extension")
	d = often(t, "positive", d, 0)
	m.run(t, fmt.Sprintf("Extend %s %v", tail(a.ID), d),
		func(w *model.World) model.Answer { return w.Extend(a.ID, d.Microseconds()) },
		func(s *subject) model.Answer { return s.attempt(s.jobs.Extend(m.ctx, a, d)) })
}

func (m *machine) setRef(t *rapid.T) {
	a, ref := m.drawAttempt(t), often(t, "reference", "ref", "other", "")
	m.run(t, fmt.Sprintf("SetExternalRef %s %q", tail(a.ID), ref),
		func(w *model.World) model.Answer { return w.SetExternalRef(a.ID, ref) },
		func(s *subject) model.Answer { return s.attempt(s.jobs.SetExternalRef(m.ctx, a, ref)) })
}

// get reads in one of the ways, also under a wrong owner.
func (m *machine) get(t *rapid.T) {
	job, a := m.drawJob(t), m.drawAttempt(t)
	owner := often(t, "owner", job.Owner, "eve", "bob", "")
	key := oneOf(t, "key", "k", "l", "m")
	switch rapid.IntRange(0, 4).Draw(t, "way") {
	case 0:
		m.run(t, "Get", func(w *model.World) model.Answer { return w.Get(owner, job.ID) },
			func(s *subject) model.Answer { return s.job(s.jobs.Get(m.ctx, owner, job.ID)) })
	case 1:
		m.run(t, "GetByKey "+owner+"/"+key, func(w *model.World) model.Answer { return w.GetByKey(owner, key) },
			func(s *subject) model.Answer { return s.job(s.jobs.GetByKey(m.ctx, owner, key)) })
	case 2:
		m.run(t, "GetAttempt "+tail(a.ID), func(w *model.World) model.Answer { return w.GetAttempt(a.ID) },
			func(s *subject) model.Answer {
				j, x, err := s.jobs.GetAttempt(m.ctx, a.ID)
				answer := s.attempt(x, err)
				answer.Job = s.viewJob(j)
				return answer
			})
	case 3:
		m.run(t, "Attempts", func(w *model.World) model.Answer { return w.Attempts(owner, job.ID) },
			func(s *subject) model.Answer {
				list, err := s.jobs.Attempts(m.ctx, owner, job.ID)
				answer := s.answer(err)
				answer.List = s.views(list)
				return answer
			})
	case 4:
		m.run(t, "Operator.Get", func(w *model.World) model.Answer { return w.OperatorGet(job.ID) },
			func(s *subject) model.Answer {
				j, list, err := s.op.Get(m.ctx, job.ID)
				answer := s.job(j, err)
				answer.List = s.views(list)
				return answer
			})
	}
}
