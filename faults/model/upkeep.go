package model

import (
	"cmp"
	"slices"

	"github.com/onejob-go/onejob"
)

// Filter is [onejob.Filter] with an instant of the model's clock.
type Filter struct {
	onejob.Filter
	Before int64
}

func (w *World) match(f Filter) []*attempt {
	if len(f.States) == 0 {
		f.States = []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached}
	}
	var found []*attempt
	for _, j := range w.jobs {
		for _, a := range j.attempts {
			switch {
			case f.Late && a.lateAt == 0, !f.Late && !slices.Contains(f.States, w.state(a)):
			case f.Owner != "" && f.Owner != j.intent.Owner, f.Kind != "" && f.Kind != j.intent.Kind:
			case f.Provider != "" && f.Provider != a.provider, f.Before != 0 && a.started >= f.Before:
			default:
				found = append(found, a)
			}
		}
	}
	slices.SortFunc(found, func(a, b *attempt) int { return cmp.Compare(a.started, b.started) })
	return found
}

// List lists attempts, oldest first, without payloads.
func (w *World) List(f Filter) Answer {
	var answer Answer
	for _, a := range w.match(f) {
		e := EntryView{w.view(a.job), w.viewAttempt(a)}
		e.Job.Params, e.Job.NilParams, e.Job.Result, e.Job.NilResult = "", true, "", true
		answer.Entries = append(answer.Entries, e)
	}
	return answer
}

// Sweep makes durable what readers see, for at most limit attempts, those that
// are overdue the longest, and does nothing else.
func (w *World) Sweep(limit int) Answer {
	var overdue []*attempt
	for _, a := range w.match(Filter{}) {
		if a.stored == onejob.StateStarted && w.state(a) == onejob.StateUnknown {
			overdue = append(overdue, a)
		}
	}
	slices.SortFunc(overdue, func(a, b *attempt) int { return cmp.Compare(a.deadline, b.deadline) })
	var answer Answer
	for _, a := range overdue[:min(limit, len(overdue))] {
		a.stored = onejob.StateUnknown
		answer.List = append(answer.List, w.viewAttempt(a))
	}
	slices.SortFunc(answer.List, byID)
	return answer
}

// SortByID orders a list of which the order is not promised.
func SortByID(list []AttemptView) { slices.SortFunc(list, byID) }

func byID(a, b AttemptView) int { return cmp.Compare(a.ID, b.ID) }

// Purge empties final jobs of one age and removes tombstones of another, those
// that were created first before others. Zero keeps.
func (w *World) Purge(payloads, tombstones int64, limit int) Answer {
	if tombstones != 0 && tombstones < payloads {
		return invalid("Purge", "Retention.Tombstones")
	}
	// Tombstones first: then no job is done to twice in one call.
	n := 0
	kept := w.jobs[:0:0]
	for _, j := range w.jobs {
		if tombstones != 0 && j.purged != 0 && j.ended+tombstones <= w.Now && n < limit {
			n++
			continue
		}
		kept = append(kept, j)
	}
	w.jobs = kept
	for _, j := range w.jobs {
		if payloads != 0 && j.ended != 0 && j.purged == 0 && j.ended+payloads <= w.Now && j.open() == nil && n < limit {
			w.empty(j)
			n++
		}
	}
	return Answer{N: n}
}

func (w *World) empty(j *job) {
	j.purged = w.Now
	j.version++
	var kept []*attempt
	for _, a := range j.attempts {
		if a.stored == onejob.StateDetached {
			a.stored, a.ended, a.decision = onejob.StateCanceled, w.Now, onejob.Decision{By: "purge", Reason: Some}
		} else if a != j.winner {
			continue
		}
		a.cause, a.ref = "", ""
		kept = append(kept, a)
	}
	j.attempts = kept
}

// Stats counts.
func (w *World) Stats() Answer {
	var s StatsView
	for _, j := range w.jobs {
		*map[onejob.JobState]*int64{onejob.JobOpen: &s.Open, onejob.JobCompleted: &s.Completed, onejob.JobCanceled: &s.Canceled}[j.state]++
		if j.purged != 0 {
			s.Purged++
		}
		for _, a := range j.attempts {
			if a.lateAt != 0 {
				s.Late++
			}
		}
	}
	for _, a := range w.match(Filter{}) {
		switch w.state(a) {
		case onejob.StateStarted:
			s.Started++
		case onejob.StateDetached:
			s.Detached++
		default:
			s.Unknown++
			if s.Times[0] == 0 {
				s.Times[0] = a.started
			}
		}
	}
	return Answer{Stats: s}
}
