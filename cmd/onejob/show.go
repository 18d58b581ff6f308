package main

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

type showCmd struct {
	ID       string `arg:"" optional:"" help:"The ID of the job, or of one of its attempts."`
	Owner    word   `placeholder:"NAME" help:"With --key, in the place of an ID: whose job it is."`
	Key      word   `placeholder:"KEY" help:"With --owner: the client's idempotency key."`
	Payloads bool   `help:"Show params and result too. They are the user's data."`
}

// Run tells the story of a job.
func (c *showCmd) Run(a *app) error {
	byKey := c.Owner != "" || c.Key != ""
	switch {
	case c.ID != "" && byKey:
		return usage("give an ID, or --owner and --key, not both")
	case c.ID == "" && (c.Owner == "" || c.Key == ""):
		return usage("which job? Give its ID, an attempt's ID, or --owner and --key")
	}
	var job onejob.JobID
	var attempt onejob.AttemptID
	if !byKey {
		var err error
		if job, attempt, err = id(c.ID); err != nil {
			return err
		}
		if attempt != "" {
			job = attempt.Job()
		}
	}
	return a.with(reads, func(s *session) error {
		if byKey {
			found, err := s.jobs.GetByKey(s.ctx, string(c.Owner), string(c.Key))
			if err != nil {
				return err
			}
			job = found.ID
		}
		return s.show(job, attempt, c.Payloads)
	})
}

func (s *session) show(id onejob.JobID, marked onejob.AttemptID, payloads bool) error {
	job, attempts, err := s.operator.Get(s.ctx, id)
	if err != nil {
		return err
	}
	now, err := s.now(s.ctx)
	if err != nil {
		return err
	}
	if marked != "" && !holds(attempts, marked) && job.PurgedAt.IsZero() {
		return fail(exitNotFound, "job %s has no such attempt: onejob show %s", job.ID, job.ID)
	}
	events := story(job, attempts, now)
	advice := advise(job, attempts)
	doc := struct {
		Job      jobView       `json:"job"`
		Attempts []attemptView `json:"attempts"`
		Timeline []event       `json:"timeline"`
		Now      time.Time     `json:"now"`
	}{sized(job, payloads), []attemptView{}, events, now}
	for _, a := range attempts {
		doc.Attempts = append(doc.Attempts, viewAttempt(a))
	}
	return s.tell(doc, func() {
		s.showJob(job, now, payloads)
		for _, a := range attempts {
			s.showAttempt(job, a, now)
		}
		s.say("\nTimeline")
		printStory(s.stdout, job, events)
		for i, line := range advice {
			if i == 0 {
				s.say("\nWhat now")
			}
			s.say("  %s", line)
		}
	})
}

func holds(attempts []onejob.Attempt, id onejob.AttemptID) bool {
	for _, a := range attempts {
		if a.ID == id {
			return true
		}
	}
	return false
}

func sized(job onejob.Job, payloads bool) jobView {
	v := viewJob(job)
	if job.PurgedAt.IsZero() {
		n := len(job.Params)
		v.ParamsSize = &n
		if job.Result != nil {
			n := len(job.Result)
			v.ResultSize = &n
		}
	}
	if payloads {
		v.Params, v.Result = payloadOf(job.Params), payloadOf(job.Result)
	}
	return v
}

func (s *session) showJob(job onejob.Job, now time.Time, payloads bool) {
	s.say("Job %s: %s, %s", job.ID, strings.ToUpper(string(job.Status())), statusMeans(job))
	hidden := " (--payloads shows them)"
	if payloads {
		hidden = ""
	}
	params, result := fmt.Sprintf("%s%s", count(len(job.Params), "byte"), hidden), ""
	if job.Result != nil {
		result = fmt.Sprintf("%s%s", count(len(job.Result), "byte"), hidden)
	}
	purged := ""
	if !job.PurgedAt.IsZero() {
		params, purged = "", stampAgo(job.PurgedAt, now)+": params, result and most attempts are gone"
	}
	ended := ""
	if !job.EndedAt.IsZero() {
		ended = stampAgo(job.EndedAt, now) + whose(job.Decision)
	}
	target := ""
	if job.Target != "" {
		target = safe(job.Target)
	}
	facts(s.stdout, [][2]string{{"owner", safe(job.Owner)}, {"key", safe(job.Key)}, {"kind", safe(job.Kind)}, {"target", target},
		{"created", stampAgo(job.CreatedAt, now)}, {"ended", ended}, {"purged", purged}, {"params", params}, {"result", result}}...)
	if payloads {
		s.showPayload("params", job.Params)
		s.showPayload("result", job.Result)
	}
}

func (s *session) showPayload(name string, p []byte) {
	if len(p) == 0 {
		return
	}
	s.say("\n%s:", name)
	if !utf8.Valid(p) {
		s.say("%s", strings.TrimRight(hex.Dump(p), "\n"))
		return
	}
	for line := range strings.Lines(string(p)) {
		s.say("  %s", plain(strings.TrimSuffix(line, "\n")))
	}
}

// plain is a line of somebody's text, quoted only where a terminal would obey.
func plain(line string) string {
	if printable(strings.ReplaceAll(line, "\t", " ")) {
		return line
	}
	return safe(line)
}

func (s *session) showAttempt(job onejob.Job, a onejob.Attempt, now time.Time) {
	s.say("\nAttempt %d by %s: %s, %s", a.Number, safe(a.Provider), strings.ToUpper(string(a.State)), stateMeans(job, a, now))
	ended := ""
	if !a.EndedAt.IsZero() {
		ended = fmt.Sprintf("%s, after %s", stampAgo(a.EndedAt, now), span(a.EndedAt.Sub(a.StartedAt)))
	}
	late, digest := "", ""
	if !a.LateAt.IsZero() {
		late = fmt.Sprintf("%s: a result of %s was thrown away", stampAgo(a.LateAt, now), count(a.LateSize, "byte"))
		digest = hex.EncodeToString(a.LateDigest[:])
	}
	decided := ""
	if a.By != "" {
		decided = safe(a.By) + ": " + safe(a.Reason)
	}
	deadline := stampAgo(a.Deadline, now)
	if !a.EndedAt.IsZero() {
		deadline = stamp(a.Deadline) // nobody waits for it
	}
	facts(s.stdout, [][2]string{{"id", string(a.ID)}, {"provider key", a.ProviderKey}, {"external ref", orNone(a.ExternalRef)},
		{"began", stampAgo(a.StartedAt, now)}, {"deadline", fmt.Sprintf("%s, timeout %s", deadline, a.Timeout)},
		{"ended", ended}, {"cause", orNone(a.Cause)}, {wordLabel(a.State), decided}, {"late", late}, {"its sha256", digest}}...)
}

func orNone(s string) string {
	if s == "" {
		return ""
	}
	return safe(s)
}

func whose(d onejob.Decision) string {
	if d.By == "" {
		return ""
	}
	return fmt.Sprintf(", by %s: %s", safe(d.By), safe(d.Reason))
}
