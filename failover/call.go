package failover

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
	"github.com/onejob-go/onejob/provider"
)

// call asks the provider, and holds the deadline also where the provider does
// not: its answer is then written when it comes, like any other.
func (r *Runner) call(ctx context.Context, p provider.Provider, route provider.Route, job onejob.Job, a onejob.Attempt) ([]byte, error) {
	request := r.request(job, a)
	gone := false
	r.late.Add()
	r.calls.begin(a.ID)
	defer func() {
		if !gone {
			r.over(a)
		}
	}()
	var reply provider.Reply
	var err error
	reply, gone, err = hold.Call(ctx, func() (provider.Reply, error) {
		defer r.logPanic("a provider panicked", a)
		return p.Call(ctx, request)
	}, func(reply provider.Reply, err error) {
		defer r.over(a)
		defer r.swallow(a)
		r.afterDeadline(ctx, route, job, a, reply, err)
	})
	r.keepRef(ctx, a, reply.Ref)
	f := r.judge(route, job, reply, err)
	r.logDiscarded(a, f)
	return f.output, f.err
}

func (r *Runner) over(a onejob.Attempt) {
	r.calls.end(a.ID)
	r.late.Done()
}

// request is what a provider gets. Params are its own copy.
func (r *Runner) request(job onejob.Job, a onejob.Attempt) provider.Request {
	job.Params = append([]byte(nil), job.Params...)
	return provider.Request{Job: job, Attempt: a, Handle: func(ctx context.Context, ref string) error {
		_, err := r.jobs.SetExternalRef(ctx, a, ref)
		return err
	}}
}

// logPanic keeps the stack of a panic that goes on elsewhere.
func (r *Runner) logPanic(what string, a onejob.Attempt) {
	if v := recover(); v != nil {
		r.log.Error("onejob: "+what, "attempt", string(a.ID), "provider", a.Provider, "stack", string(debug.Stack()))
		panic(v)
	}
}

// swallow ends a panic where nobody waits: an OnComplete that panics on a late
// answer must not end the process. The attempt stays as it is.
func (r *Runner) swallow(a onejob.Attempt) {
	if recover() != nil {
		r.log.Error("onejob: a panic while an answer was stored that nobody waits for", "attempt", string(a.ID), "stack", string(debug.Stack()))
	}
}

// keepRef keeps the provider's handle. Where that fails the outcome is still
// worth more.
func (r *Runner) keepRef(ctx context.Context, a onejob.Attempt, ref string) {
	if ref == "" || a.ExternalRef != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refTime)
	defer cancel()
	if _, err := r.jobs.SetExternalRef(ctx, a, ref); err != nil && !errors.Is(err, onejob.ErrAttemptEnded) {
		r.log.Warn("onejob: the provider's handle was not kept", "attempt", string(a.ID), "error", err.Error())
	}
}

const refTime = 5 * time.Second

// afterDeadline writes what a provider said after its attempt became unknown. A
// database that is away is waited for, some seven minutes: this is the last that
// is heard of it.
func (r *Runner) afterDeadline(ctx context.Context, route provider.Route, job onejob.Job, a onejob.Attempt, reply provider.Reply, err error) {
	r.keepRef(ctx, a, reply.Ref)
	f := r.judge(route, job, reply, err)
	r.logDiscarded(a, f)
	if !f.known {
		r.log.Info("onejob: a provider came back after the deadline and knows nothing", "attempt", string(a.ID), "error", f.err.Error())
		return
	}
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		_, err = r.write(ctx, a, f)
		if !errors.Is(err, onejob.ErrUnavailable) || wait > 5*time.Minute {
			break
		}
		time.Sleep(wait)
	}
	if err != nil && !errors.Is(err, onejob.ErrLateResult) && !errors.Is(err, onejob.ErrAttemptEnded) {
		r.log.Error("onejob: an answer after the deadline was not stored", "attempt", string(a.ID), "error", err.Error())
	}
}

// write ends an attempt by what is known.
func (r *Runner) write(ctx context.Context, a onejob.Attempt, f finding) (onejob.Job, error) {
	if f.err != nil {
		return r.jobs.Fail(ctx, a, f.err)
	}
	return r.jobs.Complete(ctx, a, f.output)
}

// logFailed tells why the walk goes on: a key that has expired or an address that
// is wrong would else show in nothing but the fallback's bill.
func (r *Runner) logFailed(o outcome) {
	var e *onejob.Error
	if errors.As(o.err, &e) && e.Attempt != nil {
		r.log.Warn("onejob: a provider did not do a job, the next one is asked", "job", string(o.job.ID), "attempt", string(e.Attempt.ID),
			"provider", o.name, "why", e.Attempt.Cause)
	}
}

// logDiscarded tells of an answer that was paid for and thrown away.
func (r *Runner) logDiscarded(a onejob.Attempt, f finding) {
	if f.discarded {
		r.log.Warn("onejob: an answer was discarded", "job", string(a.JobID), "attempt", string(a.ID), "provider", a.Provider,
			"why", f.err.Error())
	}
}
