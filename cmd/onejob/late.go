package main

import (
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

type lateCmd struct {
	filterFlags
	Since when `placeholder:"TIME" help:"Only what came since: a time, or how long ago (24h, 3d)."`
	Limit int  `default:"100" help:"At most so many; 0 lists all."`
}

// Run lists late results.
func (c *lateCmd) Run(a *app) error {
	return a.with(reads, func(s *session) error {
		now, err := s.now(s.ctx)
		if err != nil {
			return err
		}
		if err := c.check(now); err != nil {
			return err
		}
		f := c.filter(now)
		f.Late = true
		if c.Since.set() {
			f.LateSince = c.Since.from(now)
		}
		entries, more, err := take(c.began(s.operator.Attempts(s.ctx, f), now), c.Limit)
		if err != nil {
			return err
		}
		return s.list(entries, more, func() {
			switch {
			case len(entries) == 0 && (c.filterFlags.set() || c.Since.set()):
				s.say("no result that came late matches these flags")
				return
			case len(entries) == 0:
				s.say("no result came late")
				return
			}
			lateTable(entries, now).print(s.stdout)
			s.say("\n%s came late and was thrown away, by when the attempt began. Ask each provider what it did: what was done twice must be undone.",
				count(len(entries), "result"))
			s.tellMore(more, c.Limit)
		})
	})
}

func lateTable(entries []onejob.Entry, now time.Time) *table {
	t := &table{head: []string{"AGE", "CAME", "STATE", "BYTES", "JOB IS", "PROVIDER", "KIND", "OWNER", "KEY"}}
	for _, e := range entries {
		a := e.Attempt
		t.add([]string{span(now.Sub(a.LateAt)), stamp(a.LateAt), string(a.State), fmt.Sprint(a.LateSize), string(e.Job.Status()),
			cut(safe(a.Provider), 16), cut(safe(e.Job.Kind), 16), cut(safe(e.Job.Owner), 20), cut(safe(e.Job.Key), 24)}, lateNotes(e)...)
	}
	return t
}

func lateNotes(e onejob.Entry) []string {
	lines := []string{string(e.Attempt.ID)}
	if w := e.Job.Attempt; w != nil && e.Job.State == onejob.JobCompleted && w.ID != e.Attempt.ID {
		lines = append(lines, fmt.Sprintf("lost to attempt %d by %s", w.Number, safe(w.Provider)))
		if _, same := sameKey(e.Attempt, []onejob.Attempt{*w}); same {
			lines = append(lines, "both had the same provider key: if the provider deduplicates by it, it acted once")
		}
	}
	if e.Attempt.ExternalRef != "" {
		lines = append(lines, "external ref: "+safe(e.Attempt.ExternalRef))
	}
	return lines
}
