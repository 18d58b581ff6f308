package maintenance

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

const (
	defaultStepTimeout = 30 * time.Second
	defaultPause       = 100 * time.Millisecond
	// sweepPause and sweepSteps bound a sweep after an outage: the next one goes
	// on, and readers see what is overdue in any case.
	sweepPause = 50 * time.Millisecond
	sweepSteps = 500
)

func (l *Loop) sweeping(c Sweep) *task {
	limit, timeout := orElse(c.Limit, 200), orElse(c.Timeout, defaultStepTimeout)
	t := &task{name: "sweep", every: c.Every, gentle: true}
	t.run = func(r *run) error {
		for range sweepSteps {
			var swept []onejob.Attempt
			err := r.step(timeout, func(ctx context.Context) (err error) {
				swept, err = l.op.Sweep(ctx, limit)
				return err
			})
			if err != nil {
				return err
			}
			t.record.add(func(c *Task) { c.Swept += int64(len(swept)) })
			if len(swept) < limit {
				return nil
			}
			if err := r.pause(sweepPause); err != nil {
				return err
			}
		}
		t.record.add(func(c *Task) { c.Full++ })
		return nil
	}
	return t
}

func (l *Loop) reconciling(c Reconcile) *task {
	timeout := orElse(c.Timeout, 10*time.Minute)
	t := &task{name: "reconcile " + c.name(), every: c.Every, turn: "onejob/reconcile/" + c.name()}
	t.run = func(r *run) error {
		return r.step(timeout, func(ctx context.Context) error {
			pass, err := c.Run(ctx)
			t.record.add(func(c *Task) {
				c.Asked += int64(pass.Asked)
				c.Ended += int64(pass.Ended)
			})
			return err
		})
	}
	return t
}

func (l *Loop) purging(c Purge) *task {
	limit, most := orElse(c.Limit, 100), orElse(c.MaxPerTurn, 100_000)
	timeout, pause := orElse(c.Timeout, defaultStepTimeout), orElse(c.Pause, defaultPause)
	t := &task{name: "purge", every: c.Every, turn: "onejob/purge", gentle: true}
	t.run = func(r *run) error {
		for left := most; left > 0; {
			n, asked := 0, min(limit, left)
			err := r.step(timeout, func(ctx context.Context) (err error) {
				n, err = l.op.Purge(ctx, c.Retention, asked)
				return err
			})
			t.record.add(func(c *Task) { c.Purged += int64(n) })
			if err != nil || n < asked {
				return err
			}
			if left -= n; left > 0 {
				if err := r.pause(pause); err != nil {
					return err
				}
			}
		}
		t.record.add(func(c *Task) { c.Full++ })
		return nil
	}
	return t
}

// Ask makes a [Reconcile].Run of Operator.Reconcile: each unknown attempt that f
// selects is asked about, oldest first, each time. Ended counts those that were
// unknown and are not any more. READ WHAT IS SAID THERE about what "not found"
// proves.
//
// Where providers are many, slow or down take a failover.Runner, which asks about
// each less and less often, so that the oldest do not keep the others waiting.
func Ask(jobs *onejob.Jobs, f onejob.Filter, ask onejob.Call) func(ctx context.Context) (Pass, error) {
	op := onejob.NewOperator(jobs)
	return func(ctx context.Context) (Pass, error) {
		var pass Pass
		var doubts int
		left, err := op.Reconcile(ctx, f, func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
			pass.Asked++
			if a.State == onejob.StateUnknown {
				doubts++
			}
			return ask(ctx, job, a)
		})
		pass.Ended = doubts - left
		return pass, err
	}
}
