package failover

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// ReconcileOptions bound a pass; zero means the defaults.
type ReconcileOptions struct {
	// Limit is how many attempts are asked about in one pass. Default: 100.
	Limit int
	// Timeout bounds each question. Default: the runner's.
	Timeout time.Duration
	// Progress hears of each question once it is answered.
	Progress func(Pass)
}

// Pass is what one look at the doubts has come to.
type Pass struct {
	// Asked is how many questions were put, Ended how many of the answers end a
	// doubt (where one could not be stored, the error says so), Open how many do
	// not.
	Asked, Ended, Open int
	// Later is how many were passed over, for they were asked about not long ago
	// or the limit was reached.
	Later int
}

var errEnough = errors.New("the pass has put as many questions as it may")

// Reconcile asks once about the unknown attempts of this runner's kind and
// providers, and about detached ones of jobs that are still open, oldest first,
// as far as these providers can be asked: what is Done completes
// the job (OnComplete included) if it keeps the contract, what is Failed, or
// NotStarted after the grace, fails the attempt; all else stays unknown. It
// never calls another provider: that is for a [Runner.Run] of the job.
//
// An attempt about which nothing was found out is asked about less and less
// often, up to once an hour, so that the oldest do not keep the others waiting.
// The error is ctx's, the store's, or what was refused in completing; see
// Operator.Reconcile.
func (r *Runner) Reconcile(ctx context.Context, o ReconcileOptions) (Pass, error) {
	if o.Limit <= 0 {
		o.Limit = 100
	}
	if o.Timeout <= 0 {
		o.Timeout = r.c.Timeout
	}
	var pass Pass
	var refused error
	for i, p := range r.c.Providers {
		if _, ok := provider.As[provider.Resolver](p); !ok {
			continue
		}
		err := r.reconcile(ctx, r.routes[i].Name, o, &pass)
		switch {
		case errors.Is(err, errEnough):
			return pass, refused
		case ctx.Err() != nil:
			return pass, context.Cause(ctx)
		case err != nil:
			refused = errors.Join(refused, err)
		}
	}
	return pass, refused
}

func (r *Runner) reconcile(ctx context.Context, name string, o ReconcileOptions, pass *Pass) error {
	walk, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	begin := r.c.Now()
	f := onejob.Filter{Kind: r.c.Kind, Provider: name, States: []onejob.State{onejob.StateUnknown, onejob.StateDetached}}
	_, err := r.op.Reconcile(walk, f, func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
		if job.State != onejob.JobOpen {
			return nil, nil // a race that is decided
		}
		if !r.asked.due(a.ID, begin) {
			pass.Later++
			return nil, nil
		}
		if pass.Asked == o.Limit {
			pass.Later++
			stop(errEnough)
			return nil, nil
		}
		pass.Asked++
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		f := r.find(ctx, job, a)
		if f.known {
			r.asked.forget(a.ID)
			pass.Ended++
		} else {
			r.asked.again(a.ID, r.c.Now())
			pass.Open++
		}
		if o.Progress != nil {
			o.Progress(*pass)
		}
		return f.output, f.err
	})
	return err
}

// ReconcileEvery makes a pass about every so often, at random moments between
// half of that and one and a half, so that many processes do not ask at once.
// It returns when ctx ends, with its cause. Errors of a pass are logged, and the
// next one comes.
func (r *Runner) ReconcileEvery(ctx context.Context, every time.Duration, o ReconcileOptions) error {
	if every <= 0 {
		return errors.New("failover: every must be positive")
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every/2 + rand.N(every)):
		}
		pass, err := r.Reconcile(ctx, o)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.log.Error("onejob: a look at unknown attempts did not end well", "error", err.Error(), "asked", pass.Asked)
		}
	}
}
