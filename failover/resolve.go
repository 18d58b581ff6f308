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
	errBlind   = errors.New("the provider has no trace of the call, which was sent without a key and left no handle to look for")
	errUnder   = errors.New("this process is still calling the provider")
	errNobody  = errors.New("the attempt's provider is none of this runner's")
	errCannot  = errors.New("the provider cannot be asked what became of a call")
	errNothing = errors.New("the provider does not know what became of the call")
	errOld     = errors.New("what the provider has answered does not fit the contract or the model as they are now")
)

// resolve asks about one attempt and writes what is known. Whether it helped
// shows in the job.
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
	// Of one that ignores ctx the answer is dropped: it only looked, and is asked
	// again.
	reply, _, err := hold.Call(ctx, func() (provider.Reply, error) {
		defer r.logPanic("a provider panicked when it was asked about an attempt", a)
		return resolver.Resolve(ctx, r.request(job, a))
	}, func(provider.Reply, error) {})
	r.keepRef(ctx, a, reply.Ref)
	if reply.Verdict == provider.NotStarted {
		sender, tells := provider.As[provider.KeySender](p)
		switch {
		case tells && !sender.SendsKey() && reply.Ref == "" && a.ExternalRef == "":
			return finding{err: errBlind}
		case r.calls.under(a.ID):
			return finding{err: errUnder}
		case r.c.Now().Before(a.Deadline.Add(r.c.Grace)):
			return finding{err: errGrace}
		}
	}
	f := r.judge(route, job, reply, err)
	switch {
	case f.discarded:
		// It has acted. The attempt may be of an older release, with another model
		// or contract: that its answer does not count now is not known then.
		return finding{err: errors.Join(errOld, f.err)}
	case !f.known && err == nil:
		f.err = errNothing
	}
	return f
}
