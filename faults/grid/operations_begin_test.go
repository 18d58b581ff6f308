package grid

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

// beginning are the operations that make jobs and attempts.
var beginning = []*operation{
	{
		name:  "Create",
		setup: nothing,
		run: func(ctx context.Context, h *host) error {
			_, _, err := h.jobs.Create(ctx, h.w.intent(""))
			return err
		},
		there:    func(_ *world, v view) bool { return len(v.jobs) == 1 },
		versions: 1, fresh: true,
	},
	{
		name:  "CreateTx, and the host commits",
		setup: nothing,
		run: func(ctx context.Context, h *host) error {
			return h.inTx(ctx, func(tx *sql.Tx) error {
				_, created, err := h.jobs.CreateTx(ctx, tx, h.w.intent(""))
				if err == nil && created {
					_, err = tx.ExecContext(ctx, h.bind(insertRow), h.w.Key)
				}
				return err
			})
		},
		there:    func(_ *world, v view) bool { return len(v.jobs) == 1 && v.rows == 1 },
		versions: 1, rows: 1, fresh: true, hostTx: true,
	},
	{
		// A refusal must not poison the transaction it was met in.
		name:  "CreateTx refused (other input), and the host commits",
		setup: created,
		run: func(ctx context.Context, h *host) error {
			return h.inTx(ctx, func(tx *sql.Tx) error {
				other := h.w.intent("")
				other.Kind = "refund"
				if _, _, err := h.jobs.CreateTx(ctx, tx, other); !errors.Is(err, onejob.ErrKeyConflict) {
					return err
				}
				_, err := tx.ExecContext(ctx, h.bind(insertOnce), h.w.Key)
				return err
			})
		},
		there: func(_ *world, v view) bool { return v.rows == 1 },
		rows:  1, hostTx: true, lockless: "a key that exists refuses without waiting for the lock on its job",
	},
	{
		name:  "Start",
		setup: nothing,
		run: func(ctx context.Context, h *host) error {
			_, a, err := h.jobs.Start(ctx, h.w.intent(""), h.w.try(time.Hour))
			if err == nil {
				h.w.Try = a.ID
			}
			h.w.learn(err)
			return err
		},
		there:    func(_ *world, v view) bool { return len(v.jobs) == 1 && len(v.attempts) == 1 },
		versions: 1, attempts: 1, mints: 2, fresh: true,
	},
	{
		name:  "BeginAttempt",
		setup: created,
		run: func(ctx context.Context, h *host) error {
			a, err := h.jobs.BeginAttempt(ctx, h.w.Job, h.w.try(time.Hour))
			if err == nil {
				h.w.Try = a.ID
			}
			h.w.learn(err)
			return err
		},
		there:    func(_ *world, v view) bool { return len(v.attempts) == 1 },
		attempts: 1, mints: 1,
	},
	{
		name:  "CreateMany, of two",
		setup: nothing,
		run: func(ctx context.Context, h *host) error {
			list, err := h.jobs.CreateMany(ctx, []onejob.Intent{h.w.intent(""), h.w.intent("-2")})
			for _, c := range list {
				err = errors.Join(err, c.Err)
			}
			return err
		},
		there:    func(_ *world, v view) bool { return len(v.jobs) == 2 },
		versions: 2, fresh: true,
	},
	doing("Do, at its Start", 0),
	doing("Do, at its Complete", 1),
}

// doing is Do, with the fault at one of its two commits.
func doing(name string, skip int) *operation {
	return &operation{
		name:  name,
		setup: nothing,
		run: func(ctx context.Context, h *host) error {
			job, err := h.jobs.Do(ctx, h.w.intent(""), h.w.try(h.w.Timeout), h.w.provider)
			if err == nil {
				h.w.Try = job.Attempt.ID
			}
			h.w.learn(err)
			return err
		},
		again:    []error{onejob.ErrInDoubt, onejob.ErrAttemptOpen},
		there:    func(_ *world, v view) bool { return len(v.jobs) == 1 && v.jobs[0]["state"] == "completed" },
		versions: 2, attempts: 1, mints: 2, skip: skip, steps: true, fresh: skip == 0,
	}
}

// nothing is the setup of what makes its own job.
func nothing(context.Context, *host) error { return nil }

func created(ctx context.Context, h *host) (err error) {
	h.w.Job, _, err = h.jobs.Create(ctx, h.w.intent(""))
	return err
}

// started is a job with an attempt under way.
func started(ctx context.Context, h *host) error { return begun(ctx, h, time.Hour) }

func begun(ctx context.Context, h *host, timeout time.Duration) (err error) {
	h.w.Job, h.w.Attempt, err = h.jobs.Start(ctx, h.w.intent(""), h.w.try(timeout))
	return err
}
