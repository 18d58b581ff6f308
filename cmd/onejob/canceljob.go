package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onejob-go/onejob"
)

type cancelJobCmd struct {
	Job string `arg:"" help:"The job's ID."`
	wordFlags
}

// Run withdraws a job.
func (c *cancelJobCmd) Run(a *app) error {
	d, err := c.decision()
	if err != nil {
		return err
	}
	job, attempt, err := id(c.Job)
	switch {
	case err != nil:
		return err
	case attempt != "":
		return usage("that is an attempt's ID. Its job: onejob cancel-job %s; the attempt alone: onejob cancel %s", attempt.Job(), attempt)
	}
	return a.with(writes, func(s *session) error { return s.cancelJob(job, d, c.Yes) })
}

func (s *session) cancelJob(id onejob.JobID, d onejob.Decision, yes bool) error {
	job, attempts, err := s.operator.Get(s.ctx, id)
	if err != nil {
		return err
	}
	if job.State == onejob.JobOpen {
		if err := s.agree(yes, s.aboutJob(job, attempts, d), "Withdraw this job?"); err != nil {
			return err
		}
		// It is withdrawn as it was shown, not if an attempt has begun meanwhile.
		now, since, err := s.operator.Get(context.WithoutCancel(s.ctx), id)
		if err != nil {
			return err
		}
		if now.State == onejob.JobOpen && standings(since) != standings(attempts) {
			return fail(exitRefused, "nothing was done: the job's attempts have changed meanwhile, it is %s; look again: onejob show %s", now.Status(), id)
		}
	}
	word := decided
	after, err := s.operator.CancelJob(context.WithoutCancel(s.ctx), id, d)
	switch {
	case errors.Is(err, onejob.ErrCompleted):
		return err
	case err != nil:
		return err
	case after.By != d.By || after.Reason != d.Reason || job.State == onejob.JobCanceled:
		word = already
	}
	if _, fresh, err := s.operator.Get(context.WithoutCancel(s.ctx), id); err == nil {
		attempts = fresh
	}
	doc := struct {
		Outcome string  `json:"outcome"`
		Job     jobView `json:"job"`
	}{word, viewJob(after)}
	return s.tell(doc, func() {
		if word == already {
			s.say("Job %s was canceled already%s. Nothing was changed.", id, whose(after.Decision))
		} else {
			s.say("Job %s is canceled: nothing can win any more.", id)
		}
		for _, a := range attempts {
			if a.State.Open() || a.State == onejob.StateDetached {
				s.say("Attempt %s is %s still: find out what it did, then refute or cancel it.", a.ID, a.State)
			}
		}
	})
}

// standings tells whether two looks at a job saw the same. An attempt that became
// overdue in between is none of it.
func standings(attempts []onejob.Attempt) string {
	var b strings.Builder
	for _, a := range attempts {
		state := a.State
		if state == onejob.StateStarted {
			state = onejob.StateUnknown
		}
		fmt.Fprintf(&b, "%s %s %q %q\n", a.ID, state, a.Cause, a.ExternalRef)
	}
	return b.String()
}

func (s *session) aboutJob(job onejob.Job, attempts []onejob.Attempt, d onejob.Decision) []string {
	lines := []string{
		"CANCEL THE JOB " + string(job.ID),
		"  in " + s.where,
		fmt.Sprintf("  %s, owner %s, key %s, is %s: %s", safe(job.Kind), safe(job.Owner), safe(job.Key), job.Status(), statusMeans(job)),
		fmt.Sprintf("  decided by %s: %s", safe(d.By), safe(d.Reason)), "",
		"The intent is withdrawn, for good: nothing can win any more, no attempt may begin, and the key keeps answering so.",
	}
	for _, a := range attempts {
		if a.State.Open() || a.State == onejob.StateDetached {
			lines = append(lines, fmt.Sprintf("It does not end attempt %d by %s, which is %s: it may have acted, and what it brings is thrown away.",
				a.Number, safe(a.Provider), a.State))
		}
	}
	return append(lines, "")
}
