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
	At      time.Time `json:"at,omitzero"`       // none: the moment is not stored
	Attempt int       `json:"attempt,omitempty"` // the number; none: of the job
	Event   string    `json:"event"`
	Text    string    `json:"text"`
	place   time.Time // where it stands in the list, if At is not stored
	rank    int
}

func (e event) when() time.Time {
	if e.At.IsZero() {
		return e.place
	}
	return e.At
}

// Ranks within an instant: what must have come first.
const (
	rankCreated = iota
	rankDetached
	rankBegan
	rankDoubt
	rankDeadline
	rankEnded
	rankLate
	rankJob
	rankPurged
	rankNow
)

// story puts in order what the rows tell. They hold no time at which a call ended
// in doubt or an attempt was detached: those events stand where they are known to
// belong, without one.
func story(job onejob.Job, attempts []onejob.Attempt, now time.Time) []event {
	events := []event{{At: job.CreatedAt, Event: "created", Text: "job created: " + safe(job.Kind)}}
	for _, a := range attempts {
		events = append(events, ofAttempt(a, attempts, now)...)
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
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(a.when().Compare(b.when()), cmp.Compare(a.rank, b.rank)) })
	events = append(events, event{At: now, Event: "now", Text: "job is " + string(job.Status()), rank: rankNow})
	for i := range events {
		events[i].At = utc(events[i].At)
	}
	return events
}

func ofAttempt(a onejob.Attempt, all []onejob.Attempt, now time.Time) []event {
	name := fmt.Sprintf("attempt %d ", a.Number)
	add := func(list []event, at time.Time, rank int, word, text string) []event {
		return append(list, event{At: at, Attempt: a.Number, Event: word, Text: name + text, rank: rank})
	}
	list := add(nil, a.StartedAt, rankBegan, "began", fmt.Sprintf("began: %s, timeout %s", safe(a.Provider), a.Timeout))
	end := a.EndedAt
	if end.IsZero() {
		end = now
	}
	if leftDoubt(a) {
		list = append(list, event{Attempt: a.Number, Event: "doubt", place: a.StartedAt, rank: rankDoubt,
			Text: fmt.Sprintf("attempt %d's call ended in doubt, at a time that is not stored: %s", a.Number, cut(safe(a.Cause), 60))})
	}
	if wasDetached(a, all) {
		list = append(list, detaching(a, all, end))
	}
	if !a.Deadline.After(end) {
		word, text := atDeadline(a, all, end)
		list = add(list, a.Deadline, rankDeadline, word, text)
	}
	if !a.EndedAt.IsZero() && a.State != onejob.StateLate {
		text := map[onejob.State]string{onejob.StateSucceeded: "succeeded: it won", onejob.StateFailed: "failed: it had no effect",
			onejob.StateCanceled: "canceled: it cannot win"}[a.State]
		list = add(list, a.EndedAt, rankEnded, string(a.State), text+lastWord(a))
	}
	if !a.LateAt.IsZero() {
		text := fmt.Sprintf("came late: %s thrown away", count(a.LateSize, "byte"))
		if a.State == onejob.StateLate {
			text += lastWord(a)
		}
		list = add(list, a.LateAt, rankLate, "late", text)
	}
	return list
}

// leftDoubt is whether the call is known to have ended in doubt. The cause of a
// failed attempt may be that of its failing.
func leftDoubt(a onejob.Attempt) bool { return a.Cause != "" && a.State != onejob.StateFailed }

// detaching stands before what could only begin after it.
func detaching(a onejob.Attempt, all []onejob.Attempt, end time.Time) event {
	place := end
	for _, b := range all {
		if b.Number > a.Number && b.StartedAt.Before(place) {
			place = b.StartedAt
		}
	}
	text := "was detached, at a time that is not stored"
	if a.State == onejob.StateDetached {
		text += lastWord(a)
	} else {
		text += ": another began beside it"
	}
	return event{Attempt: a.Number, Event: "detached", place: place, rank: rankDetached, Text: fmt.Sprintf("attempt %d %s", a.Number, text)}
}

// atDeadline says no more of the time from the deadline on than the row knows.
func atDeadline(a onejob.Attempt, all []onejob.Attempt, end time.Time) (word, text string) {
	from := "passed its deadline: unknown from here on"
	if a.Cause != "" {
		from = "passed its deadline: unknown from here on at the latest"
	}
	switch {
	case wasDetached(a, all):
		return "deadline", "passed its deadline"
	case a.By != "":
		return "unknown", from + ", until a decision"
	}
	return "unknown", from + ", for " + span(end.Sub(a.Deadline))
}

func printStory(w io.Writer, job onejob.Job, events []event) {
	t := &table{head: []string{"  TIME", "AFTER", "EVENT"}}
	for _, e := range events {
		switch {
		case e.Event == "now" && job.State != onejob.JobOpen: // said above, and when it ended
		case e.At.IsZero():
			t.add([]string{"  -", "-", e.Text})
		default:
			t.add([]string{"  " + stamp(e.At), "+" + span(e.At.Sub(job.CreatedAt)), e.Text})
		}
	}
	t.print(w)
}
