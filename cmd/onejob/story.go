package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/onejob-go/onejob"
)

// event is a line of a job's story. Event is one of the words below.
type event struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt,omitempty"` // the number; none: of the job
	Event   string    `json:"event"`
	Text    string    `json:"text"`
	rank    int
}

// Ranks within an instant: what must have come first.
const (
	rankCreated = iota
	rankBegan
	rankDeadline
	rankEnded
	rankLate
	rankJob
	rankPurged
	rankNow
)

// story puts in order what the rows tell. They hold no time at which a call left
// a doubt or an attempt was detached, so those are told of now.
func story(job onejob.Job, attempts []onejob.Attempt, now time.Time) []event {
	events := []event{{At: job.CreatedAt, Event: "created", Text: "job created: " + safe(job.Kind)}}
	for _, a := range attempts {
		events = append(events, ofAttempt(a, now)...)
	}
	switch job.State {
	case onejob.JobCompleted:
		text := "job completed"
		if w := job.Attempt; w != nil {
			text += fmt.Sprintf(": attempt %d by %s has won", w.Number, safe(w.Provider))
		}
		events = append(events, event{At: job.EndedAt, Event: "completed", Text: text, rank: rankJob})
	case onejob.JobCanceled:
		events = append(events, event{At: job.EndedAt, Event: "job_canceled", Text: "job canceled" + whose(job.Decision), rank: rankJob})
	}
	if !job.PurgedAt.IsZero() {
		events = append(events, event{At: job.PurgedAt, Event: "purged", Text: "job purged", rank: rankPurged})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.rank, b.rank)) })
	events = append(events, event{At: now, Event: "now", Text: "job is " + string(job.Status()), rank: rankNow})
	for i := range events {
		events[i].At = events[i].At.UTC()
	}
	return events
}

func ofAttempt(a onejob.Attempt, now time.Time) []event {
	name := fmt.Sprintf("attempt %d ", a.Number)
	add := func(list []event, at time.Time, rank int, word, text string) []event {
		return append(list, event{at, a.Number, word, name + text, rank})
	}
	list := add(nil, a.StartedAt, rankBegan, "began", fmt.Sprintf("began: %s, timeout %s", safe(a.Provider), a.Timeout))
	end := a.EndedAt
	if end.IsZero() {
		end = now
	}
	switch {
	case a.Deadline.After(end):
	case a.State == onejob.StateDetached:
		list = add(list, a.Deadline, rankDeadline, "deadline", "passed its deadline")
	case a.By != "" && (a.State == onejob.StateLate || a.State == onejob.StateSucceeded):
		// It was detached or confirmed, and the rows do not hold when.
		list = add(list, a.Deadline, rankDeadline, "unknown", "passed its deadline: unknown from here on, until a word of "+safe(a.By))
	default:
		list = add(list, a.Deadline, rankDeadline, "unknown", "passed its deadline: unknown from here on, for "+span(end.Sub(a.Deadline)))
	}
	if !a.EndedAt.IsZero() && a.State != onejob.StateLate {
		text := map[onejob.State]string{onejob.StateSucceeded: "succeeded: it won", onejob.StateFailed: "failed: it had no effect",
			onejob.StateCanceled: "canceled: it cannot win"}[a.State]
		list = add(list, a.EndedAt, rankEnded, string(a.State), text+whose(a.Decision))
	}
	if !a.LateAt.IsZero() {
		list = add(list, a.LateAt, rankLate, "late", fmt.Sprintf("came late: %s thrown away", count(a.LateSize, "byte")))
	}
	return list
}

func printStory(w io.Writer, job onejob.Job, events []event) {
	t := &table{head: []string{"  TIME", "AFTER", "EVENT"}}
	for _, e := range events {
		t.add([]string{"  " + stamp(e.At), "+" + span(e.At.Sub(job.CreatedAt)), e.Text})
	}
	t.print(w)
}
