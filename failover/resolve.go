package failover

import (
	"context"
	"errors"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
	"github.com/onejob-go/onejob/provider"
)

var (
	errGrace   = errors.New("the provider has no trace of the call, which may still be on its way")
	errNobody  = errors.New("the attempt's provider is none of this runner's")
	errCannot  = errors.New("the provider cannot be asked what became of a call")
	errNothing = errors.New("the provider does not know what became of the call")
)

// resolve asks about one unknown attempt and writes what is known. Whether it
// helped shows in the job.
func (r *Runner) resolve(ctx context.Context, job onejob.Job, a onejob.Attempt) {
	ctx, cancel := context.WithTimeout(ctx, r.c.Timeout)
	defer cancel()
	f := r.find(ctx, job, a)
	if !f.known {
		return
	}
	if _, err := r.write(ctx, a, f); err != nil {
		r.log.Warn("onejob: what the provider told was not stored", "attempt", string(a.ID), "error", err.Error())
	}
}

// find asks the attempt's provider, if it can be asked.
func (r *Runner) find(ctx context.Context, job onejob.Job, a onejob.Attempt) finding {
	p, route, ok := r.provider(a.Provider)
	if !ok {
		return finding{err: errNobody}
	}
	resolver, ok := provider.As[provider.Resolver](p)
	if !ok {
		return finding{err: errCannot}
	}
	request := provider.Request{Job: job, Attempt: a, Handle: func(ctx context.Context, ref string) error {
		_, err := r.jobs.SetExternalRef(ctx, a, ref)
		return err
	}}
	// Of one that ignores ctx the answer is dropped: it only looked, and is asked
	// again.
	reply, _, err := hold.Call(ctx, func() (provider.Reply, error) { return resolver.Resolve(ctx, request) },
		func(provider.Reply, error) {})
	if reply.Verdict == provider.NotStarted && r.c.Now().Before(a.Deadline.Add(r.c.Grace)) {
		return finding{err: errGrace}
	}
	f := r.judge(route, job, reply, err)
	if !f.known && err == nil {
		f.err = errNothing
	}
	return f
}
