package model_test

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

func (m *machine) confirm(t *rapid.T) {
	a, result, d := m.drawAttempt(t), drawResult(t), drawDecision(t)
	m.run(t, fmt.Sprintf("Confirm %s %q %v", tail(a.ID), result, d),
		func(w *model.World) model.Answer { return w.Confirm(a.ID, result, d) },
		func(s *subject) model.Answer { return s.job(s.op.Confirm(m.ctx, a.ID, result, d)) })
}

// decisions are the operator's words that settle an attempt.
var decisions = []struct {
	op string
	to onejob.State
	do func(*onejob.Operator, context.Context, onejob.AttemptID, onejob.Decision) (onejob.Job, error)
}{
	{"DetachAttempt", onejob.StateDetached, (*onejob.Operator).DetachAttempt},
	{"CancelAttempt", onejob.StateCanceled, (*onejob.Operator).CancelAttempt},
	{"Refute", onejob.StateFailed, (*onejob.Operator).Refute},
}

func (m *machine) decide(t *rapid.T) {
	a, d, by := m.drawAttempt(t), drawDecision(t), oneOf(t, "word", decisions...)
	m.run(t, fmt.Sprintf("%s %s %v", by.op, tail(a.ID), d),
		func(w *model.World) model.Answer { return w.Decide(by.op, a.ID, by.to, d) },
		func(s *subject) model.Answer { return s.job(by.do(s.op, m.ctx, a.ID, d)) })
}

func (m *machine) cancelJob(t *rapid.T) {
	job, d := m.drawJob(t), drawDecision(t)
	m.run(t, fmt.Sprintf("CancelJob %s %v", job.ID, d),
		func(w *model.World) model.Answer { return w.CancelJob(job.ID, d) },
		func(s *subject) model.Answer { return s.job(s.op.CancelJob(m.ctx, job.ID, d)) })
}

func (m *machine) drawFilter(t *rapid.T) model.Filter {
	var f model.Filter
	f.States = often(t, "states", nil, []onejob.State{onejob.StateUnknown, onejob.StateDetached},
		[]onejob.State{onejob.StateStarted}, []onejob.State{onejob.StateFailed, onejob.StateCanceled, onejob.StateLate, onejob.StateSucceeded})
	f.Owner = often(t, "owner", "", owners...)
	f.Kind = often(t, "kind", "", "mail", "charge")
	f.Provider = often(t, "provider", "", "alpha", "beta")
	f.Before = often(t, "before", 0, m.world.Now-(25*time.Minute).Microseconds(), m.world.Now+(5*time.Minute).Microseconds())
	return f
}

// filter is f by the store's clock.
func (s *subject) filter(f model.Filter) onejob.Filter {
	f.Filter.Before = s.at(f.Before)
	return f.Filter
}

func (m *machine) list(t *rapid.T) {
	f := m.drawFilter(t)
	if rapid.Bool().Draw(t, "late") {
		f.Late, f.States = true, nil
	}
	m.run(t, fmt.Sprintf("Operator.Attempts %+v", f),
		func(w *model.World) model.Answer { return w.List(f) },
		func(s *subject) model.Answer {
			var answer model.Answer
			for e, err := range s.op.Attempts(m.ctx, s.filter(f)) {
				if err != nil {
					return s.answer(err)
				}
				view := model.EntryView{Job: s.viewJob(e.Job), Attempt: s.viewAttempt(&e.Attempt)}
				view.Job.NilParams = e.Job.Params == nil
				answer.Entries = append(answer.Entries, view)
			}
			return answer
		})
}

func (m *machine) sweep(t *rapid.T) {
	limit := oneOf(t, "limit", 1000, 1)
	m.run(t, fmt.Sprintf("Sweep %d", limit),
		func(w *model.World) model.Answer { return w.Sweep(limit) },
		func(s *subject) model.Answer {
			list, err := s.op.Sweep(m.ctx, limit)
			answer := s.answer(err)
			answer.List = s.views(list)
			model.SortByID(answer.List)
			return answer
		})
}

func (m *machine) purge(t *rapid.T) {
	var r onejob.Retention
	r.Payloads = often(t, "payloads", 5*time.Minute, 0, 55*time.Minute)
	r.Tombstones = often(t, "tombstones", 0, 15*time.Minute, 65*time.Minute, time.Minute)
	limit := often(t, "limit", 1000, 1)
	m.run(t, fmt.Sprintf("Purge %+v limit %d", r, limit),
		func(w *model.World) model.Answer {
			return w.Purge(r.Payloads.Microseconds(), r.Tombstones.Microseconds(), limit)
		},
		func(s *subject) model.Answer {
			n, err := s.op.Purge(m.ctx, r, limit)
			answer := s.answer(err)
			answer.N = n
			return answer
		})
}

func (m *machine) stats(t *rapid.T) {
	m.run(t, "Stats", (*model.World).Stats, func(s *subject) model.Answer {
		stats, err := s.op.Stats(m.ctx)
		answer := s.answer(err)
		answer.Stats.Stats, answer.Stats.Times[0] = stats, s.time(stats.OldestUnknown)
		answer.Stats.OldestUnknown = time.Time{}
		return answer
	})
}
