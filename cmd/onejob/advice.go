package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// statusMeans says what a job's status means to whoever was woken by it.
func statusMeans(job onejob.Job) string {
	switch job.Status() {
	case onejob.StatusPending:
		return "nothing blocks it, an attempt may begin"
	case onejob.StatusRunning:
		return "an attempt is under way, no other may begin"
	case onejob.StatusUnknown:
		return "an attempt may or may not have taken effect, and blocks the next"
	case onejob.StatusCompleted:
		return "done, once and for all"
	case onejob.StatusCanceled:
		return "withdrawn, nothing can win any more"
	}
	return ""
}

func stateMeans(job onejob.Job, a onejob.Attempt, now time.Time) string {
	switch a.State {
	case onejob.StateStarted:
		return "under way until its deadline in " + span(a.Deadline.Sub(now))
	case onejob.StateUnknown:
		if a.Cause != "" || a.Deadline.After(now) {
			return "its call ended in doubt; it may have acted"
		}
		return "nobody came back by its deadline, " + span(now.Sub(a.Deadline)) + " ago; it may have acted"
	case onejob.StateDetached:
		if job.State != onejob.JobOpen {
			return "nobody waited for it, and the job is over; it may have acted"
		}
		return "nobody waits for it, it may still win"
	case onejob.StateSucceeded:
		return "it won, its result is the job's"
	case onejob.StateFailed:
		if !a.LateAt.IsZero() {
			return "it was held to have had no effect, AND CAME BACK WITH A RESULT"
		}
		return "it had no effect"
	case onejob.StateCanceled:
		if !a.LateAt.IsZero() {
			return "it could not win any more, AND CAME BACK WITH A RESULT"
		}
		return "by somebody's word it could not win"
	case onejob.StateLate:
		return "it came back after another had won; what it did may need a refund"
	}
	return ""
}

// advise says what may be done. It is for people; programs have the states.
func advise(job onejob.Job, attempts []onejob.Attempt) []string {
	var lines []string
	for _, a := range attempts {
		if !a.LateAt.IsZero() {
			lines = append(lines, fmt.Sprintf("Attempt %d brought a result that was thrown away: see with %s whether its effect must be undone (a refund).",
				a.Number, safe(a.Provider)))
			lines = append(lines, mayBeOne(a, attempts)...)
		}
	}
	for _, a := range attempts {
		if a.State.Open() || a.State == onejob.StateDetached {
			lines = append(lines, decideOn(job, a, attempts)...)
		}
	}
	if job.Status() == onejob.StatusPending {
		lines = append(lines, "Nothing blocks the job. The client's retry, or a runner, begins the next attempt; onejob cancel-job withdraws it.")
	}
	return lines
}

// mayBeOne warns of undoing what was done once: two attempts with one key are the
// same order to a provider that deduplicates.
func mayBeOne(a onejob.Attempt, attempts []onejob.Attempt) []string {
	b, found := sameKey(a, attempts)
	if !found {
		return nil
	}
	return []string{fmt.Sprintf("Attempt %d had the same provider key at %s: if that deduplicates by it, it acted once. Look before you undo anything.",
		b.Number, safe(a.Provider))}
}

func decideOn(job onejob.Job, a onejob.Attempt, attempts []onejob.Attempt) []string {
	word := func(verb string) string { return fmt.Sprintf("onejob %s %s --by YOU --reason WHY", verb, a.ID) }
	lines := []string{askFirst(job, a)}
	if hasActed(a) {
		lines = append(lines, "  "+actedMind)
	}
	lines = append(lines,
		"  it had no effect   "+word("refute"),
		"  it shall not win   "+word("cancel"))
	if job.State != onejob.JobOpen {
		lines = append(lines, fmt.Sprintf("  it happened        its effect is one too many, the job is %s: undo it, then cancel", job.State))
		return append(lines, mayBeOne(a, attempts)...)
	}
	if a.State == onejob.StateDetached {
		return append(append(lines, "  it happened        not from here: see onejob confirm"), mayBeOne(a, attempts)...)
	}
	return append(lines,
		"  go on, it may win  "+word("detach"),
		"  it happened        not from here: see onejob confirm",
		"Canceled or detached, it may have acted, and so may the next: its effect may be there twice.",
		sameKeyNext)
}

func askFirst(job onejob.Job, a onejob.Attempt) string {
	ask := fmt.Sprintf("Ask %s what became of attempt %d, by its provider key%s. Then:", safe(a.Provider), a.Number, and(a.ExternalRef, " or external ref"))
	switch {
	case a.State == onejob.StateStarted:
		return fmt.Sprintf("The process of attempt %d may still be at work: wait for its deadline if you can. If not:", a.Number)
	case a.State == onejob.StateDetached && job.State == onejob.JobOpen:
		return fmt.Sprintf("Attempt %d is detached: it blocks nothing and may still win. ", a.Number) + ask
	}
	return ask
}

// hasActed reads the library's own word: the call came back with a result that
// could not be kept. Whoever refutes that has it done again.
func hasActed(a onejob.Attempt) bool {
	return strings.Contains(a.Cause, "the call returned a result that could not be stored")
}

const actedMind = "MIND: by its cause the provider HAS ACTED and brought a result that could not be stored. Do not refute it: confirm it."

func and(s, text string) string {
	if s == "" {
		return ""
	}
	return text
}
