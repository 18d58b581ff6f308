package grid

import (
	"context"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

// settling are the operations on an attempt that has no result.
var settling = []*operation{
	{
		name: "Fail, with proof", setup: started,
		run: func(ctx context.Context, h *host) error {
			_, err := h.jobs.Fail(ctx, h.w.Attempt, onejob.NoEffect(errors.New("out of paper")))
			return err
		},
		there: inState("failed"),
	},
	{
		name: "Fail, without proof", setup: started,
		run: func(ctx context.Context, h *host) error {
			_, err := h.jobs.Fail(ctx, h.w.Attempt, errors.New("unexpected EOF"))
			return err
		},
		there: inState("unknown"),
	},
	{
		name: "MarkUnknown", setup: started,
		run: func(ctx context.Context, h *host) error {
			_, err := h.jobs.MarkUnknown(ctx, h.w.Attempt, errors.New("no answer"))
			return err
		},
		there: inState("unknown"),
	},
	{
		name: "Extend", setup: started,
		run: func(ctx context.Context, h *host) error {
			_, err := h.jobs.Extend(ctx, h.w.Attempt, 2*time.Hour)
			return err
		},
		there: func(w *world, v view) bool {
			return v.attempt(w.Attempt.ID)["timeout"] == "7200000000"
		},
	},
	{
		name: "SetExternalRef", setup: started,
		run: func(ctx context.Context, h *host) error {
			_, err := h.jobs.SetExternalRef(ctx, h.w.Attempt, "order 17")
			return err
		},
		there: func(w *world, v view) bool { return v.attempt(w.Attempt.ID)["external_ref"] == "order 17" },
	},
}

// inState says that the attempt is in a state, as stored and not as read.
func inState(state string) func(*world, view) bool {
	return func(w *world, v view) bool { return v.attempt(w.Attempt.ID)["state"] == state }
}
