package main

import (
	"context"
	"errors"
	"fmt"

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
	job, _, err := s.operator.Get(s.ctx, id)
	if err != nil {
		return err
	}
	if job.State == onejob.JobOpen {
		if err := s.agree(yes, s.aboutJob(job, d), "Withdraw this job?"); err != nil {
			return err
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
		if a := job.Attempt; a != nil && a.State.Open() {
			s.say("Attempt %s is %s still: find out what it did, then refute or cancel it.", a.ID, a.State)
		}
	})
}

func (s *session) aboutJob(job onejob.Job, d onejob.Decision) []string {
	lines := []string{
		"CANCEL THE JOB " + string(job.ID),
		"  in " + s.where,
		fmt.Sprintf("  %s, owner %s, key %s, is %s: %s", safe(job.Kind), safe(job.Owner), safe(job.Key), job.Status(), statusMeans(job)),
		fmt.Sprintf("  decided by %s: %s", safe(d.By), safe(d.Reason)), "",
		"The intent is withdrawn, for good: nothing can win any more, no attempt may begin, and the key keeps answering so.",
	}
	if a := job.Attempt; a != nil {
		lines = append(lines, fmt.Sprintf("It does not end attempt %d by %s, which is %s: it may have acted, and what it brings is thrown away.",
			a.Number, safe(a.Provider), a.State))
	}
	return append(lines, "")
}
