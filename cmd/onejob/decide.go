package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

// wordFlags are who decides, and why.
type wordFlags struct {
	By     string `placeholder:"NAME" help:"Who decides. Required, and stored."`
	Reason string `placeholder:"TEXT" help:"Why. Required, and stored."`
	Yes    bool   `help:"Do not ask."`
}

// decision checks the words before anybody is asked: the library would after.
func (f wordFlags) decision() (onejob.Decision, error) {
	switch {
	case f.By == "YOU" || f.Reason == "WHY":
		return onejob.Decision{}, usage("put your name in the place of YOU and your reason in that of WHY: they are stored")
	case f.By == "" || strings.TrimSpace(f.Reason) == "":
		return onejob.Decision{}, usage("--by and --reason are required: they are stored, and tell tomorrow who decided and why")
	case len(f.By) > 128 || !utf8.ValidString(f.By) || strings.ContainsFunc(f.By, unicode.IsControl):
		return onejob.Decision{}, usage("--by must be at most 128 bytes of text without control characters")
	case len(f.Reason) > 4096 || !utf8.ValidString(f.Reason) || strings.ContainsRune(f.Reason, 0):
		return onejob.Decision{}, usage("--reason must be at most 4096 bytes of text")
	}
	return onejob.Decision{By: f.By, Reason: f.Reason}, nil
}

// The outcomes of a decision.
const (
	decided = "decided"
	already = "already"   // by somebody else's word, or by itself
	over    = "ended"     // otherwise
	changed = "changed"   // not as it was shown any more
	failed  = "failed"    // the database refused
	noWord  = "no_answer" // applied or not
	unmet   = "not_reached"
)

// outcome is what became of a decision about one attempt.
type outcome struct {
	word    string
	job     onejob.Job
	attempt onejob.Attempt
}

// decide takes a decision about an attempt as it was shown: not about one that
// has changed since, as when somebody else has detached it.
func (s *session) decide(v verb, shown onejob.Attempt, d onejob.Decision) (outcome, error) {
	ctx := context.WithoutCancel(s.ctx) // a signal ends a run between two decisions, not in one
	job, a, err := s.jobs.GetAttempt(ctx, shown.ID)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{job: job, attempt: a}
	overdue := shown.State == onejob.StateStarted && a.State == onejob.StateUnknown
	switch {
	case a.State == v.to:
		o.word = already
		return o, nil
	case !a.State.Open() && a.State != onejob.StateDetached:
		o.word = over
		return o, nil
	case v.to == onejob.StateDetached && job.State != onejob.JobOpen:
		o.word = changed
		return o, nil
	case a.State != shown.State && !overdue, a.Cause != shown.Cause, a.ExternalRef != shown.ExternalRef,
		!a.Deadline.Equal(shown.Deadline):
		o.word = changed
		return o, nil
	}
	o.job, err = v.by(s.operator, ctx, a.ID, d)
	var e *onejob.Error
	if errors.Is(err, onejob.ErrAttemptEnded) && errors.As(err, &e) && e.Attempt != nil {
		return outcome{over, e.Job, *e.Attempt}, nil
	}
	if err != nil {
		return o, err
	}
	o.word = decided
	o.attempt.State, o.attempt.Decision = v.to, d // so it was decided, whether or not it can be read again
	if job, a, err := s.jobs.GetAttempt(ctx, a.ID); err == nil {
		o.job, o.attempt = job, a
		if a.By != d.By || a.Reason != d.Reason {
			o.word = already // at the same time: the first name and reason stand
		}
	}
	return o, nil
}

// decideFlags are those of refute, cancel and detach.
type decideFlags struct {
	Attempt string `arg:"" optional:"" help:"The attempt's ID."`
	Started bool   `help:"With --yes and an ID: also if the attempt is started and not overdue. Its process may be calling the provider."`
	wordFlags
	bulkFlags
}

type refuteCmd struct{ decideFlags }

// Run refutes.
func (c *refuteCmd) Run(a *app) error { return c.run(a, refute) }

// Help is shown by --help.
func (c *refuteCmd) Help() string { return verbHelp(refute) }

type cancelCmd struct{ decideFlags }

// Run cancels.
func (c *cancelCmd) Run(a *app) error { return c.run(a, cancel) }

// Help is shown by --help.
func (c *cancelCmd) Help() string { return verbHelp(cancel) }

type detachCmd struct{ decideFlags }

// Run detaches.
func (c *detachCmd) Run(a *app) error { return c.run(a, detach) }

// Help is shown by --help.
func (c *detachCmd) Help() string { return verbHelp(detach) }

func verbHelp(v verb) string {
	return strings.Join(v.open, " ") + "\n\nAfter an outage: onejob " + v.name + ` --all --provider P --before 1h --dry-run lists what would be decided, the same without --dry-run asks once and decides it. Only unknown attempts are taken unless --state says otherwise: the process of a started one may be at work.`
}

func (c *decideFlags) run(a *app, v verb) error {
	if c.All {
		return c.runAll(a, v)
	}
	if c.Attempt == "" {
		return usage("which attempt? Give its ID (onejob open lists them), or --all with a filter")
	}
	if c.bulkFlags.any() {
		return usage("--after, --provider, --kind, --owner, --before, --state, --limit and --dry-run go with --all, not with an ID")
	}
	d, err := c.decision()
	if err != nil {
		return err
	}
	job, attempt, err := id(c.Attempt)
	if err != nil {
		return err
	}
	return a.with(writes, func(s *session) error {
		if attempt == "" {
			return s.pointToAttempt(v, job)
		}
		return s.decideOne(c, v, attempt, d)
	})
}

// pointToAttempt answers a job's ID in the place of an attempt's.
func (s *session) pointToAttempt(v verb, id onejob.JobID) error {
	job, _, err := s.operator.Get(s.ctx, id)
	switch {
	case err != nil:
		return err
	case job.Attempt != nil && job.Attempt.State.Open():
		return usage("that is a job's ID. Its open attempt: onejob %s %s", v.name, job.Attempt.ID)
	}
	return usage("that is a job's ID, and no attempt of it is open: see onejob show %s", id)
}

func (s *session) decideOne(c *decideFlags, v verb, id onejob.AttemptID, d onejob.Decision) error {
	yes := c.Yes
	job, a, err := s.jobs.GetAttempt(s.ctx, id)
	if err != nil {
		return err
	}
	now, err := s.now(s.ctx)
	if err != nil {
		return err
	}
	switch {
	case v.to == onejob.StateDetached && a.State.Open() && job.State != onejob.JobOpen:
		return fail(exitRefused, "nothing was done: the job is %s, so nothing waits for this attempt, and detached it would be purged as no doubt: refute or cancel it once you know", job.State)
	case yes && a.State == onejob.StateStarted && !c.Started:
		return fail(exitNotConfirmed, "nothing was done: the attempt is started and not overdue, its process may be calling the provider right now. Wait for its deadline, or add --started")
	}
	if a.State.Open() || a.State == onejob.StateDetached && v.to != onejob.StateDetached {
		if err := s.agree(yes, s.aboutOne(v, job, a, d, now), "Decide this?"); err != nil {
			return err
		}
	}
	o, err := s.decide(v, a, d)
	if err != nil {
		return err
	}
	switch o.word {
	case over:
		return fail(exitRefused, "the attempt has ended otherwise: %s", ended(o.attempt))
	case changed:
		if o.attempt.State == a.State {
			return fail(exitRefused, "nothing was done: what is known of the attempt, or its job, has changed meanwhile; look again: onejob show %s", id)
		}
		return fail(exitRefused, "nothing was done: the attempt has become %s meanwhile%s; look again", o.attempt.State, lastWord(o.attempt))
	}
	doc := struct {
		Outcome string      `json:"outcome"`
		Attempt attemptView `json:"attempt"`
		Job     jobView     `json:"job"`
	}{o.word, viewAttempt(o.attempt), viewJob(o.job)}
	return s.tell(doc, func() {
		if o.word == already {
			s.say("Attempt %s was %s already%s. Nothing was changed.", id, o.attempt.State, lastWord(o.attempt))
		} else {
			s.say("Attempt %s is %s.", id, o.attempt.State)
		}
		s.say("The job is %s: %s.", o.job.Status(), statusMeans(o.job))
	})
}

// aboutOne is what a person reads before deciding.
func (s *session) aboutOne(v verb, job onejob.Job, a onejob.Attempt, d onejob.Decision, now time.Time) []string {
	lines := []string{
		fmt.Sprintf("%s attempt %d by %s", strings.ToUpper(v.name), a.Number, safe(a.Provider)),
		"  in       " + s.where,
		fmt.Sprintf("  attempt  %s", a.ID),
		fmt.Sprintf("  of job   %s, owner %s, key %s (%s)", safe(job.Kind), safe(job.Owner), safe(job.Key), job.Status()),
		fmt.Sprintf("  began    %s", stampAgo(a.StartedAt, now)),
		fmt.Sprintf("  state    %s: %s", a.State, stateMeans(job, a, now)),
	}
	if a.Cause != "" {
		lines = append(lines, "  cause    "+safe(a.Cause))
	}
	lines = append(lines, fmt.Sprintf("  decided  by %s: %s", safe(d.By), safe(d.Reason)), "")
	lines = append(lines, v.means(job, a)...)
	if v.to == onejob.StateFailed && hasActed(a) {
		lines = append(lines, actedMind)
	}
	if a.State == onejob.StateStarted {
		lines = append(lines, "MIND: it is not overdue. Its process may be calling the provider right now.")
	}
	return append(lines, "")
}
