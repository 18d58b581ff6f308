package main

import (
	"fmt"
	"iter"
	"time"

	"github.com/onejob-go/onejob"
)

// filterFlags select attempts.
type filterFlags struct {
	Provider word `placeholder:"NAME" help:"Only of this provider."`
	Kind     word `placeholder:"NAME" help:"Only of jobs of this kind."`
	Owner    word `placeholder:"NAME" help:"Only of this owner's jobs."`
	Before   when `placeholder:"TIME" help:"Only those that began before: a time, or how long ago (2h, 3d). UTC, or with a zone as in RFC 3339."`
	After    when `placeholder:"TIME" help:"Only those that began then or after it, in the same form."`
}

// check refuses a time that is yet to come: it would take what is yet to begin.
func (f filterFlags) check(now time.Time) error {
	for name, w := range map[string]when{"--before": f.Before, "--after": f.After} {
		if w.set() && w.from(now).After(now) {
			return usage("%s is in the future: times are UTC, or have a zone as in RFC 3339", name)
		}
	}
	return nil
}

// began leaves out what began before --after, which the library's filter does not
// know.
func (f filterFlags) began(all iter.Seq2[onejob.Entry, error], now time.Time) iter.Seq2[onejob.Entry, error] {
	if !f.After.set() {
		return all
	}
	from := f.After.from(now)
	return func(yield func(onejob.Entry, error) bool) {
		for e, err := range all {
			if (err != nil || !e.Attempt.StartedAt.Before(from)) && !yield(e, err) {
				return
			}
		}
	}
}

func (f filterFlags) filter(now time.Time) onejob.Filter {
	filter := onejob.Filter{Provider: string(f.Provider), Kind: string(f.Kind), Owner: string(f.Owner)}
	if f.Before.set() {
		filter.Before = f.Before.from(now)
	}
	return filter
}

func (f filterFlags) set() bool {
	return f.Provider != "" || f.Kind != "" || f.Owner != "" || f.Before.set() || f.After.set()
}

type openCmd struct {
	filterFlags
	State    stateNames `placeholder:"STATE" help:"Only in this state: started, unknown, detached. May be repeated."`
	Detached bool       `help:"Detached ones too: they block nothing and may still win."`
	Limit    int        `default:"100" help:"At most so many; 0 lists all."`
}

// Run lists open attempts.
func (c *openCmd) Run(a *app) error {
	states, err := parseStates(c.State, onejob.StateStarted, onejob.StateUnknown)
	if err != nil {
		return err
	}
	if c.Detached {
		states = append(states, onejob.StateDetached)
	}
	return a.with(reads, func(s *session) error {
		now, err := s.now(s.ctx)
		if err != nil {
			return err
		}
		if err := c.check(now); err != nil {
			return err
		}
		f := c.filter(now)
		f.States = states
		entries, more, err := take(c.began(s.operator.Attempts(s.ctx, f), now), c.Limit)
		if err != nil {
			return err
		}
		hidden, err := s.hidden(c, f, now)
		if err != nil {
			return err
		}
		return s.list(entries, more, func() {
			switch {
			case len(entries) == 0 && (c.filterFlags.set() || len(c.State) > 0):
				s.say("nothing that is open matches these flags%s", hidden)
				return
			case len(entries) == 0:
				s.say("nothing is open%s", hidden)
				return
			}
			openTable(entries, now).print(s.stdout)
			s.say("\n%s%s. Next: onejob show ATTEMPT", tally(entries), hidden)
			s.tellMore(more, c.Limit)
		})
	})
}

// hidden counts the detached attempts that match and were not asked for: they
// are forgotten easily, since they block nothing.
func (s *session) hidden(c *openCmd, f onejob.Filter, now time.Time) (string, error) {
	if c.Detached || len(c.State) > 0 || s.JSON {
		return "", nil
	}
	const most = 100
	f.States = []onejob.State{onejob.StateDetached}
	entries, more, err := take(c.began(s.operator.Attempts(s.ctx, f), now), most)
	switch {
	case err != nil || len(entries) == 0:
		return "", err
	case more:
		return fmt.Sprintf("; more than %d detached: add --detached", most), nil
	}
	return fmt.Sprintf("; %d detached: add --detached", len(entries)), nil
}

func parseStates(names []string, standard ...onejob.State) ([]onejob.State, error) {
	if len(names) == 0 {
		return standard, nil
	}
	var states []onejob.State
	for _, name := range names {
		switch state := onejob.State(name); state {
		case onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached:
			states = append(states, state)
		default:
			return nil, usage("--state %s: must be started, unknown or detached; the others have ended", safe(name))
		}
	}
	return states, nil
}

// take reads at most limit entries, all where it is 0, and whether there are more.
func take(all iter.Seq2[onejob.Entry, error], limit int) (entries []onejob.Entry, more bool, err error) {
	for e, err := range all {
		if err != nil {
			return nil, false, err
		}
		if limit > 0 && len(entries) == limit {
			return entries, true, nil
		}
		entries = append(entries, e)
	}
	return entries, false, nil
}

// list tells of entries: {"attempts": […], "more": …}.
func (a *app) list(entries []onejob.Entry, more bool, people func()) error {
	doc := struct {
		Attempts []entryView `json:"attempts"`
		More     bool        `json:"more"`
	}{[]entryView{}, more}
	for _, e := range entries {
		doc.Attempts = append(doc.Attempts, entryView{viewAttempt(e.Attempt), viewJob(e.Job)})
	}
	return a.tell(doc, people)
}

func (a *app) tellMore(more bool, limit int) {
	if more {
		a.say("There are more than these %d: --limit 0 lists all.", limit)
	}
}

func openTable(entries []onejob.Entry, now time.Time) *table {
	t := &table{head: []string{"AGE", "BEGAN", "STATE", "OVERDUE", "PROVIDER", "KIND", "OWNER", "KEY"}}
	for _, e := range entries {
		a := e.Attempt
		overdue := "-"
		if !a.Deadline.After(now) {
			overdue = span(now.Sub(a.Deadline))
		}
		t.add([]string{span(now.Sub(a.StartedAt)), stamp(a.StartedAt), string(a.State), overdue,
			cut(safe(a.Provider), 16), cut(safe(e.Job.Kind), 16), cut(safe(e.Job.Owner), 20), cut(safe(e.Job.Key), 24)}, notes(e)...)
	}
	return t
}

// notes are what stands below an attempt in a list.
func notes(e onejob.Entry) []string {
	lines := []string{string(e.Attempt.ID)}
	if e.Attempt.Cause != "" {
		lines = append(lines, "cause: "+cut(safe(e.Attempt.Cause), 90))
	}
	if e.Job.State != onejob.JobOpen && e.Attempt.State.Open() {
		lines = append(lines, fmt.Sprintf("the job is %s already; the provider may still have acted", e.Job.State))
	}
	return lines
}

// tally counts by state.
func tally(entries []onejob.Entry) string {
	by := map[onejob.State]int{}
	for _, e := range entries {
		by[e.Attempt.State]++
	}
	text := count(len(entries), "attempt")
	sep := ": "
	for _, state := range []onejob.State{onejob.StateUnknown, onejob.StateStarted, onejob.StateDetached} {
		if by[state] > 0 {
			text += fmt.Sprintf("%s%d %s", sep, by[state], state)
			sep = ", "
		}
	}
	return text
}
