package main

import (
	"context"
	"math"

	"github.com/onejob-go/onejob"
)

// batch is how much is swept or purged in one transaction.
const batch = 500

type sweepCmd struct {
	Limit int `placeholder:"N" help:"At most so many. Otherwise all."`
}

// Run sweeps in batches.
func (c *sweepCmd) Run(a *app) error {
	if c.Limit < 0 {
		return usage("--limit must be positive")
	}
	return a.with(works, func(s *session) error {
		ids := []onejob.AttemptID{}
		_, err := s.batches(c.Limit, "swept", func(ctx context.Context, limit int) (int, error) {
			swept, err := s.operator.Sweep(ctx, limit)
			for _, at := range swept {
				ids = append(ids, at.ID)
			}
			return len(swept), err
		})
		doc := struct {
			Swept    int                `json:"swept"`
			Attempts []onejob.AttemptID `json:"attempts"`
		}{len(ids), ids}
		if told := s.tell(doc, func() {
			s.say("%s became unknown for good. A reader saw them so already; onejob open lists them.", count(len(ids), "overdue attempt"))
		}); told != nil {
			return told
		}
		return err
	})
}

// batches repeats a step until it does less than it may, or limit is reached. A
// signal ends it between two.
func (s *session) batches(limit int, done string, step func(ctx context.Context, limit int) (int, error)) (total int, err error) {
	if limit == 0 {
		limit = math.MaxInt
	}
	for total < limit {
		if s.ctx.Err() != nil {
			return total, fail(exitInterrupted, "interrupted after %d were %s", total, done)
		}
		n := min(batch, limit-total)
		did, err := step(context.WithoutCancel(s.ctx), n)
		total += did
		if err != nil || did < n {
			return total, err
		}
		s.note("%d %s so far", total, done)
	}
	return total, nil
}
