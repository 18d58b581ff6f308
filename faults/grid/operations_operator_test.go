package grid

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

// operating are the operator's.
var operating = []*operation{
	{
		name: "Confirm", setup: doubted,
		run: func(ctx context.Context, h *host) error {
			_, err := h.operator.Confirm(ctx, h.w.Attempt.ID, result, decision)
			return err
		},
		there: func(w *world, v view) bool { return won(w, v) && v.rows == 1 }, versions: 1, rows: 1, hook: true,
	},
	{name: "Refute", setup: doubted, run: decide((*onejob.Operator).Refute), there: inState("failed")},
	{name: "CancelAttempt", setup: doubted, run: decide((*onejob.Operator).CancelAttempt), there: inState("canceled")},
	{name: "DetachAttempt", setup: started, run: decide((*onejob.Operator).DetachAttempt), there: inState("detached")},
	{
		name: "CancelJob", setup: created,
		run: func(ctx context.Context, h *host) error {
			_, err := h.operator.CancelJob(ctx, h.w.Job.ID, decision)
			return err
		},
		there:    func(_ *world, v view) bool { return v.jobs[0]["state"] == "canceled" },
		versions: 1,
	},
	{
		name: "Reconcile", setup: doubted,
		run: func(ctx context.Context, h *host) error {
			_, err := h.operator.Reconcile(ctx, onejob.Filter{Owner: h.w.Owner},
				func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return result, nil })
			return err
		},
		there: func(w *world, v view) bool { return won(w, v) && v.rows == 1 }, versions: 1, rows: 1, hook: true,
	},
	{
		name:  "Sweep",
		setup: func(ctx context.Context, h *host) error { return begun(ctx, h, time.Microsecond) },
		run: func(ctx context.Context, h *host) error {
			_, err := h.operator.Sweep(ctx, 100)
			return err
		},
		there: inState("unknown"), global: true,
	},
	{
		name: "Purge",
		setup: func(ctx context.Context, h *host) error {
			if err := started(ctx, h); err != nil {
				return err
			}
			return complete(result)(ctx, h)
		},
		run: func(ctx context.Context, h *host) error {
			_, err := h.operator.Purge(ctx, onejob.Retention{Payloads: time.Microsecond}, 100)
			return err
		},
		there:    func(_ *world, v view) bool { return v.jobs[0]["purged_at"] != "" && v.jobs[0]["params"] == "" },
		versions: 1, global: true,
	},
}

func decide(how func(*onejob.Operator, context.Context, onejob.AttemptID, onejob.Decision) (onejob.Job, error)) func(context.Context, *host) error {
	return func(ctx context.Context, h *host) error {
		_, err := how(h.operator, ctx, h.w.Attempt.ID, decision)
		return err
	}
}

// doubted is a job whose attempt is of unknown fate.
func doubted(ctx context.Context, h *host) error {
	if err := started(ctx, h); err != nil {
		return err
	}
	_, err := h.jobs.MarkUnknown(ctx, h.w.Attempt, nil)
	return err
}
