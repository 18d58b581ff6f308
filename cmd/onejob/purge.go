package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

type purgeCmd struct {
	OlderThan           age  `placeholder:"AGE" help:"Drop params, result, causes and all attempts but the winner of jobs that ended longer ago than this (90d). The keys stay."`
	TombstonesOlderThan age  `placeholder:"AGE" help:"Remove altogether what was purged before and ended longer ago than this (400d): a retry of such a key EXECUTES AGAIN."`
	Young               bool `help:"Take ages of less than a day too: 6m is six MINUTES. Late retries of such jobs are still under way."`
	DryRun              bool `help:"Count, and purge nothing."`
	Yes                 bool `help:"Do not ask."`
}

// Help is shown by --help.
func (purgeCmd) Help() string {
	return "Open jobs are never touched, nor jobs with an attempt that is started or unknown. What is emptied in one run is not removed in the same run."
}

func (c *purgeCmd) check() error {
	switch {
	case c.OlderThan == 0 && c.TombstonesOlderThan == 0:
		return usage("purge what? Give --older-than, --tombstones-older-than, or both")
	case c.TombstonesOlderThan != 0 && c.TombstonesOlderThan < c.OlderThan:
		return usage("--tombstones-older-than must not be less than --older-than")
	case !c.Young && !c.DryRun && (young(c.OlderThan) || young(c.TombstonesOlderThan)):
		return usage("an age of less than a day: m is minutes (6m is six of them), and there are no months: write 180d. If you mean it add --young")
	}
	return nil
}

func young(a age) bool { return a > 0 && time.Duration(a) < 24*time.Hour }

// purged counts jobs.
type purged struct {
	Emptied int64 `json:"emptied"`
	Removed int64 `json:"removed"`
	DryRun  bool  `json:"dry_run"`
}

// Run purges in batches, tombstones first.
func (c *purgeCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	x := works
	if c.DryRun {
		x = surveys
	}
	return a.with(x, func(s *session) error {
		due, err := s.duePurge(c)
		if err != nil {
			return err
		}
		if c.DryRun {
			due.DryRun = true
			return s.tell(due, func() {
				s.say("%s would be emptied, %s removed with their keys. Nothing was done.", count(due.Emptied, "job"), count(due.Removed, "tombstone"))
			})
		}
		if due.Emptied+due.Removed > 0 {
			if err := s.agree(c.Yes, c.about(due, s.where), "Purge?"); err != nil {
				return err
			}
		}
		did, err := s.purge(c)
		if told := s.tell(did, func() {
			s.say("%s emptied, %s removed with their keys.", count(did.Emptied, "job"), count(did.Removed, "tombstone"))
		}); told != nil {
			return errors.Join(err, told)
		}
		return err
	})
}

func (s *session) duePurge(c *purgeCmd) (due purged, err error) {
	if c.TombstonesOlderThan > 0 {
		due.Removed, err = s.due(s.ctx, true, time.Duration(c.TombstonesOlderThan))
	}
	if err == nil && c.OlderThan > 0 {
		due.Emptied, err = s.due(s.ctx, false, time.Duration(c.OlderThan))
	}
	return due, err
}

// purge takes tombstones first and payloads then, in calls of their own: so one
// run never empties a job and removes its key too.
func (s *session) purge(c *purgeCmd) (did purged, err error) {
	all := func(word string, r onejob.Retention) (int64, error) {
		n, err := s.batches(0, word, func(ctx context.Context, limit int) (int, error) { return s.operator.Purge(ctx, r, limit) })
		return int64(n), err
	}
	if c.TombstonesOlderThan > 0 {
		did.Removed, err = all("removed", onejob.Retention{Tombstones: time.Duration(c.TombstonesOlderThan)})
	}
	if err == nil && c.OlderThan > 0 {
		did.Emptied, err = all("emptied", onejob.Retention{Payloads: time.Duration(c.OlderThan)})
	}
	return did, err
}

func (c *purgeCmd) about(due purged, where string) []string {
	lines := []string{"In " + where + ":"}
	if due.Emptied > 0 {
		lines = append(lines, fmt.Sprintf("PURGE %s that ended more than %s ago: params, result, causes, all attempts but the winner and with them the evidence of late results are gone for good.",
			count(due.Emptied, "job"), inWords(time.Duration(c.OlderThan))))
	}
	if due.Removed > 0 {
		lines = append(lines, fmt.Sprintf("REMOVE %s that ended more than %s ago, with their keys: a retry of such a key executes again.",
			count(due.Removed, "tombstone"), inWords(time.Duration(c.TombstonesOlderThan))))
	}
	return append(lines, "")
}
