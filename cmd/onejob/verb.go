package main

import (
	"context"
	"fmt"

	"github.com/onejob-go/onejob"
)

// verb is a decision about an attempt.
type verb struct {
	name, done string
	to         onejob.State
	open       []string // what a person must know before, where the attempt blocks an open job
	by         func(o *onejob.Operator, ctx context.Context, id onejob.AttemptID, d onejob.Decision) (onejob.Job, error)
}

var (
	refute = verb{"refute", "refuted", onejob.StateFailed, []string{
		"It had no effect, you say: it is failed, and the next attempt may begin at once, also at its provider with another provider key.",
		"If it has acted after all, the effect will be there twice. Should it still bring a result, that is thrown away."},
		(*onejob.Operator).Refute}
	cancel = verb{"cancel", "canceled", onejob.StateCanceled, []string{
		"It shall not win, whatever it did: it is canceled, and the next attempt may begin at once.",
		"If it has acted, the effect will be there twice: be ready to undo it. " + sameKeyNext,
		"Should it still bring a result, that is thrown away."},
		(*onejob.Operator).CancelAttempt}
	detach = verb{"detach", "detached", onejob.StateDetached, []string{
		"The job goes on beside it: the next attempt may begin at once, both may win, the first to complete does.",
		"If both act, the effect is there twice, and the second to come shows under onejob late. " + sameKeyNext},
		(*onejob.Operator).DetachAttempt}
)

const sameKeyNext = "At the same provider the next has the same provider key: if that deduplicates by it, it acts once."

// means says what a decision will do to this attempt of this job. No attempt
// begins on a job that is over, and a detached one blocks nothing.
func (v verb) means(job onejob.Job, a onejob.Attempt) []string {
	switch {
	case job.State != onejob.JobOpen:
		return v.meansLate(job.State)
	case a.State == onejob.StateDetached:
		return v.meansBeside()
	}
	return v.open
}

// meansLate is of a job that is over.
func (v verb) meansLate(state onejob.JobState) []string {
	over := fmt.Sprintf("The job is %s and stays so: no attempt can begin.", state)
	switch v.to {
	case onejob.StateFailed:
		return []string{"It had no effect, you say: it is failed. " + over,
			"If it has acted after all, its effect is one too many, and nobody looks for it any more. Should it still bring a result, that is thrown away."}
	case onejob.StateCanceled:
		return []string{"It is canceled: nobody asks any more what became of it. " + over,
			"If it has acted, its effect is one too many: see that it is undone. Should it still bring a result, that is thrown away."}
	}
	return nil // refused
}

// meansBeside is of a detached attempt of an open job.
func (v verb) meansBeside() []string {
	const goes = "It blocked nothing, so the job goes on as before."
	if v.to == onejob.StateFailed {
		return []string{"It had no effect, you say: it is failed, and cannot win any more. " + goes,
			"If it has acted after all, the effect may be there twice. Should it still bring a result, that is thrown away."}
	}
	return []string{"It shall not win, whatever it did: it is canceled. " + goes,
		"If it has acted, the effect may be there twice: be ready to undo it. Should it still bring a result, that is thrown away."}
}

// meansOfAll says it once of each case that is among them.
func (v verb) meansOfAll(entries []onejob.Entry) []string {
	var lines []string
	seen := map[string]int{}
	of := map[string]onejob.Entry{}
	var order []string
	for _, e := range entries {
		key := "that block their job"
		switch {
		case e.Job.State != onejob.JobOpen:
			key = "whose job is " + string(e.Job.State)
		case e.Attempt.State == onejob.StateDetached:
			key = "that are detached"
		}
		if seen[key]++; seen[key] == 1 {
			order, of[key] = append(order, key), e
		}
	}
	for _, key := range order {
		head := "Of each:"
		if len(order) > 1 {
			head = fmt.Sprintf("Of each of the %d %s:", seen[key], key)
		}
		e := of[key]
		lines = append(append(lines, head), v.means(e.Job, e.Attempt)...)
	}
	return lines
}
