package model_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
)

// machine runs one sequence on the model and on stores at once.
type machine struct {
	ctx      context.Context
	world    *model.World
	subjects []*subject
	steps    int
	own      string   // the attempt's own part of an ID that is minted in this step
	id       string   // the ID that is minted in this step
	story    []string // what was done, and what the model said
	// Attempts as callers hold them, also of jobs that are gone.
	held []onejob.Attempt
	// Jobs likewise.
	known []onejob.Job
	done  *atomic.Int64
}

func newMachine(t *rapid.T, subjects []*subject, done *atomic.Int64) *machine {
	m := &machine{ctx: context.Background(), world: model.NewWorld(epoch, maxAttempts), subjects: subjects, done: done}
	for _, s := range subjects {
		if err := s.reset(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// next begins a step. All the IDs minted in it are one: a job's and the part
// of an attempt's that is its own come from different places, so they never
// meet, and the model need not know what is minted in which order.
func (m *machine) next() {
	m.steps++
	m.world.Now += 1000 // so that attempts have an order
	m.own = fmt.Sprintf("a000%012x", m.steps)
	m.id = fmt.Sprintf("00000000-0000-7000-%s-%s", m.own[:4], m.own[4:])
	for _, s := range m.subjects {
		s.step(m.id, m.world.Now)
	}
}

// run does one step everywhere and compares.
func (m *machine) run(t *rapid.T, text string, want func(*model.World) model.Answer, do func(*subject) model.Answer) {
	m.next()
	m.compare(t, text, want, do)
}

func (m *machine) compare(t *rapid.T, text string, want func(*model.World) model.Answer, do func(*subject) model.Answer) {
	var answers []model.Answer
	for _, s := range m.subjects {
		answers = append(answers, do(s))
	}
	expected := want(m.world)
	m.story = append(m.story, fmt.Sprintf("%2d %s: %s", m.steps, text, outcome(expected)))
	m.done.Add(int64(len(answers)))
	for i, s := range m.subjects {
		if d := model.Diff(expected, answers[i], s.slack()); d != "" {
			m.fail(t, s.name+" and the model differ", d+"\ntext: "+answers[i].Text)
		}
	}
	for i := 1; i < len(answers); i++ {
		if d := model.Diff(answers[0], answers[i], m.subjects[0].slack()+m.subjects[i].slack()); d != "" {
			m.fail(t, m.subjects[0].name+" and "+m.subjects[i].name+" differ", d)
		}
	}
	m.remember(expected.Job)
	m.hold(expected.Attempt)
}

func (m *machine) fail(t *rapid.T, what, diff string) {
	t.Fatalf("%s:\n%s\nafter:\n%s", what, diff, strings.Join(m.story, "\n"))
}

// outcome is the short of an answer.
func outcome(a model.Answer) string {
	switch {
	case a.Is != "":
		return a.Is
	case a.Panicked:
		return "panics"
	}
	return "ok"
}

// remember keeps the jobs that a caller may name later.
func (m *machine) remember(j model.JobView) {
	for _, k := range m.known {
		if string(k.ID) == j.ID {
			return
		}
	}
	if j.ID != "" {
		m.known = append(m.known, onejob.Job{ID: onejob.JobID(j.ID), Intent: onejob.Intent{Owner: j.Owner}})
	}
}

func (m *machine) hold(a model.AttemptView) {
	for _, h := range m.held {
		if string(h.ID) == a.ID {
			return
		}
	}
	if a.ID != "" {
		m.held = append(m.held, onejob.Attempt{ID: onejob.AttemptID(a.ID), JobID: onejob.JobID(a.JobID), Provider: a.Provider, JobVersion: a.JobVersion})
	}
}

// whole compares all that is stored.
func (m *machine) whole(t *rapid.T) {
	m.next()
	for _, id := range m.world.Jobs() {
		m.compare(t, "the whole of job "+string(id[24:]), func(w *model.World) model.Answer { return w.OperatorGet(id) }, func(s *subject) model.Answer {
			j, list, err := s.op.Get(m.ctx, id)
			a := s.job(j, err)
			a.List = s.views(list)
			return a
		})
	}
	for _, s := range m.subjects {
		var jobs, attempts int
		if err := s.db.QueryRow("SELECT (SELECT count(*) FROM "+s.tables+"jobs), (SELECT count(*) FROM "+s.tables+"attempts)").Scan(&jobs, &attempts); err != nil {
			t.Fatal(err)
		}
		if want := len(m.world.Jobs()); jobs != want || attempts != len(m.world.Known()) {
			m.fail(t, s.name+" holds other rows", fmt.Sprintf("jobs: want %d, got %d; attempts: want %d, got %d", want, jobs, len(m.world.Known()), attempts))
		}
	}
}

// pass lets time pass.
func (m *machine) pass(t *rapid.T, d time.Duration) {
	m.world.Now += d.Microseconds()
	m.story = append(m.story, fmt.Sprintf("   %v pass", d))
	for _, s := range m.subjects {
		if err := s.advance(d); err != nil {
			t.Fatal(err)
		}
	}
}
