package onejobtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// Timeline returns the story of a job as text, for messages of failures and for
// comparing: a line per event, with the time since New on the store's clock.
//
//	 0s  job created: charge
//	 0s  attempt 1 began: acme-pay, deadline at 10s
//	10s  attempt 1 unknown: its deadline passed
//	12s  attempt 1 failed: an operator's word
//	12s  now: pending
//
// The same steps give the same text in each run: it holds no IDs. It shows
// states, sizes and the names of kinds and providers: never owners, keys,
// params or results, and so no texts of errors and operators either, which may
// quote them.
func (e *Env) Timeline(id onejob.JobID) string {
	if id == "" {
		return "no timeline: the job's ID is empty, as where the database gave no answer\n"
	}
	job, attempts, err := e.own.Get(context.Background(), id)
	if err != nil {
		return "no timeline: " + err.Error() + "\n"
	}
	events := jobEvents(job)
	for _, a := range attempts {
		events = append(events, e.attemptEvents(a)...)
	}
	// The clock stands still between steps, so order within an instant is by
	// what must have come first.
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.rank, b.rank))
	})
	events = append(events, event{at: e.Now(), text: "now: " + string(job.Status())})
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%8s  %s\n", e.since(ev.at), ev.text)
	}
	return b.String()
}

func (e *Env) since(at time.Time) string { return at.Sub(e.begin).String() }

type event struct {
	at   time.Time
	rank int
	text string
}

// Ranks within an instant: attempts come one after the other, and what is late
// has lost to what was there.
const (
	rankCreated = iota
	rankAttempt
	rankDetached // the end of one that others did not wait for
	rankEnded
	rankLate
	rankPurged
)

func jobEvents(job onejob.Job) []event {
	events := []event{{job.CreatedAt, rankCreated, "job created: " + job.Kind}}
	switch {
	case job.State == onejob.JobCanceled:
		events = append(events, event{job.EndedAt, rankEnded, "job canceled: an operator's word"})
	case job.State == onejob.JobCompleted && !job.PurgedAt.IsZero():
		events = append(events, event{job.EndedAt, rankEnded, "job completed"})
	case job.State == onejob.JobCompleted:
		events = append(events, event{job.EndedAt, rankEnded, fmt.Sprintf("job completed: %d bytes", len(job.Result))})
	}
	if !job.PurgedAt.IsZero() {
		events = append(events, event{job.PurgedAt, rankPurged, "job purged"})
	}
	return events
}

func (e *Env) attemptEvents(a onejob.Attempt) []event {
	name := fmt.Sprintf("attempt %d ", a.Number)
	began := fmt.Sprintf("%sbegan: %s, deadline at %s", name, a.Provider, e.since(a.Deadline))
	events := []event{{a.StartedAt, rankAttempt, began}}
	m := e.door.marksOf(a.ID)
	end := a.EndedAt
	if end.IsZero() {
		end = e.Now()
	}
	overdue := !a.Deadline.After(end) && (m.detached.IsZero() || a.Deadline.Before(m.detached))
	switch {
	case !m.unknown.IsZero() && (!overdue || m.unknown.Before(a.Deadline)):
		events = append(events, event{m.unknown, rankAttempt, name + "unknown: its call left a doubt"})
	case overdue:
		events = append(events, event{a.Deadline, rankAttempt, name + "unknown: its deadline passed"})
	}
	if !m.detached.IsZero() {
		events = append(events, event{m.detached, rankAttempt, name + "detached: an operator's word"})
	}
	if !a.EndedAt.IsZero() && a.State != onejob.StateLate {
		rank := rankAttempt
		if !m.detached.IsZero() {
			rank = rankDetached
		}
		events = append(events, event{a.EndedAt, rank, name + string(a.State) + e.whose(a)})
	}
	if !a.LateAt.IsZero() {
		events = append(events, event{a.LateAt, rankLate, fmt.Sprintf("%scame late: %d bytes dropped", name, a.LateSize)})
	}
	return events
}

// whose tells why an attempt ended as it did. A detached one that has succeeded
// carries the name of whoever detached it.
func (e *Env) whose(a onejob.Attempt) string {
	switch {
	case a.State == onejob.StateSucceeded && !e.door.marksOf(a.ID).detached.IsZero():
		return ""
	case a.By != "":
		return ": an operator's word"
	case a.State == onejob.StateFailed:
		return ": proof of no effect"
	}
	return ""
}

// marks are the times that the rows do not keep.
type marks struct{ unknown, detached time.Time }

// mark notes when an attempt came to be unknown or detached.
func (d *door) mark(a onejob.Attempt, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.marks[a.ID]
	switch {
	case a.State == onejob.StateUnknown && m.unknown.IsZero():
		m.unknown = at
	case a.State == onejob.StateDetached && m.detached.IsZero():
		m.detached = at
	}
	d.marks[a.ID] = m
}

func (d *door) marksOf(id onejob.AttemptID) marks {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.marks[id]
}
