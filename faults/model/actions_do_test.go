package model_test

import (
	"context"
	"database/sql"
	"fmt"

	"pgregory.net/rapid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

var ada = onejob.Decision{By: "ada", Reason: "asked"}

// meddling is what others do while a call is under way.
type meddling struct {
	name  string
	model func(w *model.World, id onejob.AttemptID)
	real  func(ctx context.Context, s *subject, a onejob.Attempt)
}

var meddlings = []meddling{
	{"CancelAttempt", func(w *model.World, id onejob.AttemptID) { w.Decide("", id, onejob.StateCanceled, ada) },
		func(ctx context.Context, s *subject, a onejob.Attempt) { _, _ = s.op.CancelAttempt(ctx, a.ID, ada) }},
	{"DetachAttempt", func(w *model.World, id onejob.AttemptID) { w.Decide("", id, onejob.StateDetached, ada) },
		func(ctx context.Context, s *subject, a onejob.Attempt) { _, _ = s.op.DetachAttempt(ctx, a.ID, ada) }},
	{"Refute", func(w *model.World, id onejob.AttemptID) { w.Decide("", id, onejob.StateFailed, ada) },
		func(ctx context.Context, s *subject, a onejob.Attempt) { _, _ = s.op.Refute(ctx, a.ID, ada) }},
	{"Confirm", func(w *model.World, id onejob.AttemptID) { w.Confirm(id, []byte("theirs"), ada) },
		func(ctx context.Context, s *subject, a onejob.Attempt) {
			_, _ = s.op.Confirm(ctx, a.ID, []byte("theirs"), ada)
		}},
	{"CancelJob", func(w *model.World, id onejob.AttemptID) { w.CancelJob(id.Job(), ada) },
		func(ctx context.Context, s *subject, a onejob.Attempt) { _, _ = s.op.CancelJob(ctx, a.JobID, ada) }},
	{"another wins", func(w *model.World, id onejob.AttemptID) {
		w.Decide("", id, onejob.StateDetached, ada)
		w.Begin("", w.Owner(id), id.Job(), onejob.Try{ID: rival(id), Provider: "beta", Timeout: 1e9}, "")
		w.Complete("", rival(id), 1, []byte("theirs"), true)
	}, func(ctx context.Context, s *subject, a onejob.Attempt) {
		_, _ = s.op.DetachAttempt(ctx, a.ID, ada)
		job, _, _ := s.jobs.GetAttempt(ctx, a.ID)
		b, _ := s.jobs.BeginAttempt(ctx, job, onejob.Try{ID: rival(a.ID), Provider: "beta", Timeout: 1e9})
		_, _ = s.jobs.Complete(ctx, b, []byte("theirs"))
	}},
}

var nobody = meddling{"nobody", func(*model.World, onejob.AttemptID) {}, func(context.Context, *subject, onejob.Attempt) {}}

// rival is the ID of the attempt that overtakes.
func rival(id onejob.AttemptID) onejob.AttemptID { return id[:37] + "c" + id[38:] }

func drawCall(t *rapid.T, outcomes ...model.Outcome) model.Call {
	return model.Call{Outcome: oneOf(t, "outcome", outcomes...), Result: drawResult(t)}
}

// answerCall does what the plan says.
func answerCall(c model.Call) ([]byte, error) {
	switch c.Outcome {
	case model.NoEffect:
		return nil, onejob.NoEffect(model.ErrCall)
	case model.Fails:
		return nil, model.ErrCall
	case model.Panics:
		panic(model.ErrCall)
	case model.Silent:
		return nil, nil
	}
	return c.Result, nil
}

func (m *machine) do(t *rapid.T) {
	in, try := drawIntent(t), m.drawTry(t)
	call := drawCall(t, model.Succeeds, model.NoEffect, model.Fails, model.Panics)
	others := often(t, "meddling", nobody, meddlings...)
	call.Meddle = func(id onejob.AttemptID) { others.model(m.world, id) }
	m.run(t, fmt.Sprintf("Do %s %+v: %s %s %q", describe(in), try, others.name, call.Outcome, call.Result),
		func(w *model.World) model.Answer { return w.Do(in, try, onejob.JobID(m.id), m.own, call) },
		func(s *subject) (answer model.Answer) {
			defer func() {
				if recover() == model.ErrCall {
					answer = s.answer(nil)
					answer.Panicked = true
				}
			}()
			return s.job(s.jobs.Do(m.ctx, in.Intent, try, func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				s.calls++
				others.real(m.ctx, s, a)
				s.hooks, s.hooked = 0, model.JobView{}
				return answerCall(call)
			}))
		})
	for _, id := range m.world.Known() {
		m.hold(m.world.GetAttempt(id).Attempt)
	}
}

func (m *machine) reconcile(t *rapid.T) {
	f := m.drawFilter(t)
	call := drawCall(t, model.Succeeds, model.NoEffect, model.Fails, model.Silent)
	if call.Outcome == model.Succeeds && len(call.Result) == 0 {
		call.Result = []byte("r")
	}
	m.run(t, fmt.Sprintf("Reconcile %+v: %s %q", f, call.Outcome, call.Result),
		func(w *model.World) model.Answer { return w.Reconcile(f, call) },
		func(s *subject) model.Answer {
			n, err := s.op.Reconcile(m.ctx, s.filter(f), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				s.calls++
				return answerCall(call)
			})
			answer := s.answer(err)
			if s.hooks > 0 && err != nil { // several errors, joined
				answer.Op, answer.Field, answer.ErrJob, answer.ErrAttempt, answer.Text = "", "", model.JobView{}, model.AttemptView{}, ""
			}
			answer.N = n
			return answer
		})
}

func (m *machine) tx(t *rapid.T) {
	plan := model.TxPlan{Forbidden: often(t, "forbidden", false, true), Fails: often(t, "fails", false, true), Result: drawResult(t)}
	if rapid.Bool().Draw(t, "create") {
		in := drawIntent(t)
		plan.Create = &in
	}
	if rapid.Bool().Draw(t, "complete") {
		a := m.drawAttempt(t)
		plan.Complete = &a
	}
	var parts [][]model.Answer
	var expected []model.Answer
	m.run(t, "Tx "+tell(plan),
		func(w *model.World) (last model.Answer) {
			expected, last = w.Tx(plan, onejob.JobID(m.id))
			return last
		},
		func(s *subject) model.Answer {
			var got []model.Answer
			err := s.jobs.Tx(m.ctx, func(ctx context.Context, tx *sql.Tx) error {
				if plan.Create != nil {
					got = append(got, s.created(s.jobs.CreateTx(ctx, tx, plan.Create.Intent)))
				}
				if plan.Complete != nil {
					got = append(got, s.job(s.jobs.CompleteTx(ctx, tx, *plan.Complete, plan.Result)))
				}
				if plan.Forbidden {
					got = append(got, s.job(s.op.CancelJob(ctx, noJob.ID, ada)))
				}
				if plan.Fails {
					return model.ErrHost
				}
				return nil
			})
			parts = append(parts, got)
			return s.answer(err)
		})
	for i, s := range m.subjects {
		for k, want := range expected {
			if d := model.Diff(want, parts[i][k], s.slack()); d != "" {
				m.fail(t, fmt.Sprintf("%s and the model differ within the transaction, part %d", s.name, k), d)
			}
		}
	}
	for _, id := range m.world.Jobs() {
		m.remember(m.world.OperatorGet(id).Job)
	}
}

func tell(p model.TxPlan) string {
	var s string
	if p.Create != nil {
		s += "CreateTx " + describe(*p.Create) + "; "
	}
	if p.Complete != nil {
		s += fmt.Sprintf("CompleteTx %s version %d %q; ", tail(p.Complete.ID), p.Complete.JobVersion, p.Result)
	}
	return s + fmt.Sprintf("forbidden %v, fails %v", p.Forbidden, p.Fails)
}
