package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// bulkFlags choose many attempts.
type bulkFlags struct {
	All bool `help:"In the place of an ID: all attempts that match. Needs --provider, --kind, --owner --before or --after."`
	filterFlags
	State  stateNames `placeholder:"STATE" help:"With --all: unknown (what is taken otherwise), started, detached. May be repeated."`
	Limit  *int       `placeholder:"N" help:"With --all: at most so many, the oldest."`
	DryRun bool       `help:"With --all: list what would be decided, and decide nothing. Needs no --by and --reason."`
}

func (c *bulkFlags) any() bool {
	return c.filterFlags.set() || len(c.State) > 0 || c.Limit != nil || c.DryRun
}

// checkAll is what can be said of the flags before there is a database.
func (c *decideFlags) checkAll(v verb) ([]onejob.State, error) {
	states, err := parseStates(c.State, onejob.StateUnknown)
	switch {
	case err != nil:
		return nil, err
	case c.Attempt != "":
		return nil, usage("give an ID or --all, not both")
	case !c.filterFlags.set():
		return nil, usage("--all without a filter would decide about every doubt in the database: add --provider, --kind, --owner, --before or --after")
	case c.Started:
		return nil, usage("--started goes with an ID; with --all it is --state started")
	case c.Limit != nil && *c.Limit < 1:
		return nil, usage("--limit must be positive")
	case v.to == onejob.StateDetached && slices.Contains(states, onejob.StateDetached):
		return nil, usage("--state detached: those are detached already")
	}
	return states, nil
}

func (c *decideFlags) runAll(a *app, v verb) error {
	states, err := c.checkAll(v)
	if err != nil {
		return err
	}
	var d onejob.Decision
	if !c.DryRun {
		if d, err = c.decision(); err != nil {
			return err
		}
	}
	x := writes
	if c.DryRun {
		x = reads
	}
	return a.with(x, func(s *session) error {
		now, err := s.now(s.ctx)
		if err != nil {
			return err
		}
		if err := c.check(now); err != nil {
			return err
		}
		f := c.filter(now)
		f.States = states
		limit := 0
		if c.Limit != nil {
			limit = *c.Limit
		}
		left := &leftOut{}
		entries, more, err := take(left.of(v, c.began(s.operator.Attempts(s.ctx, f), now)), limit)
		if err != nil {
			return err
		}
		left.tell(s)
		switch {
		case c.DryRun:
			return s.dryRun(v, entries, more, now)
		case len(entries) == 0:
			return s.tell(bulkDoc{Outcomes: []outcomeView{}, Summary: map[string]int{}}, func() { s.say("nothing matches, nothing was done") })
		}
		if err := s.agree(c.Yes, s.aboutAll(v, entries, more, d, now), fmt.Sprintf("%s all %d?", title(v.name), len(entries))); err != nil {
			return err
		}
		return s.decideAll(v, entries, d, left)
	})
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (s *session) dryRun(v verb, entries []onejob.Entry, more bool, now time.Time) error {
	return s.list(entries, more, func() {
		if len(entries) == 0 {
			s.say("nothing matches")
			return
		}
		openTable(entries, now).print(s.stdout)
		s.say("\n%s would be %s. Nothing was done.", tally(entries), v.done)
		if more {
			s.say("More match than --limit.")
		}
		s.say("To decide about these and none that came since: --before %s", entries[len(entries)-1].Attempt.StartedAt.UTC().Add(time.Microsecond).Format(time.RFC3339Nano))
	})
}

// aboutAll is what a person reads before deciding about many: how many, of what,
// from when to when, and the oldest of them.
func (s *session) aboutAll(v verb, entries []onejob.Entry, more bool, d onejob.Decision, now time.Time) []string {
	lines := []string{fmt.Sprintf("%s %s", strings.ToUpper(v.name), tally(entries))}
	if more {
		lines[0] += " (more match than --limit)"
	}
	lines = append(lines,
		"  in         "+s.where,
		"  providers  "+tallied(entries, func(e onejob.Entry) string { return e.Attempt.Provider }),
		"  kinds      "+tallied(entries, func(e onejob.Entry) string { return e.Job.Kind }),
		"  owners     "+tallied(entries, func(e onejob.Entry) string { return e.Job.Owner }),
		"  causes     "+tallied(entries, func(e onejob.Entry) string { return cmp.Or(e.Attempt.Cause, "none") }),
		"  refs       "+refs(entries),
		"  began      from "+stampAgo(entries[0].Attempt.StartedAt, now)+" to "+stampAgo(entries[len(entries)-1].Attempt.StartedAt, now),
		fmt.Sprintf("  decided    by %s: %s", safe(d.By), safe(d.Reason)), "")
	lines = append(lines, v.meansOfAll(entries)...)
	if slices.ContainsFunc(entries, func(e onejob.Entry) bool { return e.Attempt.State == onejob.StateStarted }) {
		lines = append(lines, "MIND: some are not overdue. Their processes may be calling the provider right now.")
	}
	return append(lines, "")
}

// tallied counts by a name, the most frequent first.
func tallied(entries []onejob.Entry, of func(onejob.Entry) string) string {
	const shown = 4
	by := map[string]int{}
	for _, e := range entries {
		by[of(e)]++
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if by[a] != by[b] {
			return by[b] - by[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names[:min(shown, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", cut(safe(name), 30), by[name]))
	}
	if len(names) > shown {
		parts = append(parts, fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(parts, ", ")
}

// bulkDoc tells what a bulk run came to.
type bulkDoc struct {
	Outcomes []outcomeView  `json:"outcomes"`
	Summary  map[string]int `json:"summary"`
}

type outcomeView struct {
	Attempt onejob.AttemptID `json:"attempt"`
	Outcome string           `json:"outcome"`
	Detail  string           `json:"detail,omitempty"`
}

func (d *bulkDoc) add(id onejob.AttemptID, word, detail string) {
	d.Outcomes = append(d.Outcomes, outcomeView{id, word, detail})
	d.Summary[word]++
}

// decideAll takes the decisions one by one. What others have ended meanwhile is
// left as it is; a database that gives no answer ends the run.
func (s *session) decideAll(v verb, entries []onejob.Entry, d onejob.Decision, left *leftOut) error {
	doc := &bulkDoc{Outcomes: []outcomeView{}, Summary: map[string]int{}}
	if n := left.acted + left.over; n > 0 {
		doc.Summary["left_out"] = n
	}
	p := s.progress(len(entries))
	var stop error
	for _, e := range entries {
		if stop == nil && s.ctx.Err() != nil {
			stop = fail(exitInterrupted, "interrupted: run the same command again to go on with the rest")
		}
		if stop != nil {
			doc.add(e.Attempt.ID, unmet, "")
			continue
		}
		o, err := s.decide(v, e.Attempt, d)
		switch {
		case errors.Is(err, onejob.ErrNotFound):
			doc.add(e.Attempt.ID, over, "its job was purged")
		case errors.Is(err, onejob.ErrUnavailable) && heldByAnother(err):
			doc.add(e.Attempt.ID, failed, "another holds its row: nothing was done, try again")
		case errors.Is(err, onejob.ErrUnavailable) && explained(err).code != exitNoAnswer:
			f := explained(err) // the database said no, and will to the rest
			doc.add(e.Attempt.ID, failed, f.text)
			stop = f
		case errors.Is(err, onejob.ErrUnavailable):
			f := explained(err)
			doc.add(e.Attempt.ID, noWord, f.text)
			stop = fail(f.code, "%s. The run ended at %s; run the same command again to go on with it and the rest", f.text, e.Attempt.ID)
		case err != nil:
			doc.add(e.Attempt.ID, failed, explained(err).text)
		case o.word == decided:
			doc.add(e.Attempt.ID, decided, "")
		default:
			doc.add(e.Attempt.ID, o.word, ended(o.attempt))
		}
		p.step()
	}
	if err := s.tell(doc, func() { s.summary(v, doc) }); err != nil {
		return err
	}
	if n := doc.Summary[failed]; stop == nil && n > 0 {
		return fail(exitFailed, "%s could not be %s: see above", count(n, "attempt"), v.done)
	}
	if n := doc.Summary[over] + doc.Summary[changed]; stop == nil && n > 0 {
		return fail(exitRefused, "%s left as they are: see above", count(n, "attempt"))
	}
	return stop
}

func (s *session) summary(v verb, doc *bulkDoc) {
	listed := 0
	for _, o := range doc.Outcomes {
		if o.Outcome == decided || o.Outcome == unmet {
			continue
		}
		if listed++; listed <= 20 {
			s.say("%s: left as it is: %s", o.Attempt, o.Detail)
		}
	}
	if listed > 20 {
		s.say("and %d more that were left as they are", listed-20)
	}
	s.say("%s %d of %d.", title(v.done), doc.Summary[decided], len(doc.Outcomes))
	for _, word := range []struct{ name, text string }{
		{already, "had become so already, by somebody else's word or by themselves"},
		{over, "had ended otherwise meanwhile"},
		{changed, "had changed meanwhile and were left alone"},
		{failed, "failed"},
		{noWord, "had no answer: decided or not"},
		{unmet, "were not reached"},
	} {
		if n := doc.Summary[word.name]; n > 0 {
			s.say("%6d %s", n, word.text)
		}
	}
	for _, o := range doc.Outcomes {
		if o.Outcome == decided {
			s.say("%s: %s", o.Attempt, v.done)
		}
	}
}
