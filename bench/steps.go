package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/bench/duel"
)

// shelf holds jobs, or attempts, that were made before the clock ran.
type shelf struct {
	pg      *pg
	started bool
	items   chan onejob.Attempt
}

// shelfSize is more than what is used up in one round.
const shelfSize = 4000

func newShelf(p *pg, started bool) *shelf {
	return &shelf{p, started, make(chan onejob.Attempt, shelfSize)}
}

const startAll = `
INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline)
SELECT j.id, substring(j.id::text FROM 20 FOR 4) || substring(j.id::text FROM 25), 1, 'primary', 'started', 1,
	md5(j.id::text), 60000000, now(), now() + interval '1 hour'
FROM onejob.jobs j WHERE j.owner = $1`

func (s *shelf) fill(ctx context.Context) error {
	for len(s.items) < cap(s.items) {
		in := make([]onejob.Intent, min(1000, cap(s.items)-len(s.items)))
		owner := key()
		for i := range in {
			in[i] = intent()
			in[i].Owner = owner
		}
		list, err := s.pg.jobs.CreateMany(ctx, in)
		if err == nil && s.started {
			_, err = s.pg.db.ExecContext(ctx, startAll, owner)
		}
		if err != nil {
			return err
		}
		for _, c := range list {
			id := string(c.Job.ID)
			s.items <- onejob.Attempt{
				ID: onejob.AttemptID(id + "-" + id[19:23] + id[24:]), JobID: c.Job.ID, JobVersion: 1, Provider: "primary",
				Decision: onejob.Decision{By: owner},
			}
		}
	}
	return nil
}

// openRefused adds BeginAttempt on a job whose attempt runs.
func (f *field) openRefused(ctx context.Context) error {
	job, _, err := f.pg.jobs.Start(ctx, intent(), try)
	f.metered("refused BeginAttempt", func(ctx context.Context, _ int) error {
		if _, err := f.pg.jobs.BeginAttempt(ctx, job, try); !errors.Is(err, onejob.ErrAttemptOpen) {
			return fmt.Errorf("not refused: %v", err)
		}
		return nil
	})
	return err
}

// take returns an attempt, begun or not, and the owner of its job.
func (s *shelf) take() (a onejob.Attempt, owner string, err error) {
	select {
	case a = <-s.items:
		owner, a.By = a.By, ""
		return a, owner, nil
	default:
		return a, "", duel.ErrUsedUp
	}
}

// openSteps adds the single steps.
func (f *field) openSteps(_ context.Context, h *handPg, same *samePg) error {
	for name, step := range map[string]struct {
		started bool
		do      func(ctx context.Context, a onejob.Attempt, owner string) error
	}{
		"BeginAttempt": {false, func(ctx context.Context, a onejob.Attempt, owner string) error {
			_, err := f.pg.jobs.BeginAttempt(ctx, onejob.Job{ID: a.JobID, Intent: onejob.Intent{Owner: owner}}, try)
			return err
		}},
		"BeginAttempt by hand": {false, func(ctx context.Context, a onejob.Attempt, owner string) error {
			_, err := h.Begin(ctx, string(a.JobID), owner)
			return err
		}},
		"the same BeginAttempt": {false, func(ctx context.Context, a onejob.Attempt, owner string) error {
			return same.Begin(ctx, string(a.JobID), owner)
		}},
		"the same Complete": {true, func(ctx context.Context, a onejob.Attempt, _ string) error {
			id := string(a.ID)
			return same.Complete(ctx, id[:36], id[37:])
		}},
		"Complete": {true, func(ctx context.Context, a onejob.Attempt, _ string) error {
			_, err := f.pg.jobs.Complete(ctx, a, result)
			return err
		}},
		"Complete by hand": {true, func(ctx context.Context, a onejob.Attempt, _ string) error {
			id := string(a.ID)
			return h.Complete(ctx, id[:36], id[37:])
		}},
	} {
		s := newShelf(f.pg, step.started)
		f.side("pg "+name, duel.Side{Meter: f.pg.wal, Before: s.fill, Op: func(ctx context.Context, _ int) error {
			a, owner, err := s.take()
			if err != nil {
				return err
			}
			return step.do(ctx, a, owner)
		}})
	}
	return nil
}
