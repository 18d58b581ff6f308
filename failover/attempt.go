package failover

import (
	"context"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
	"github.com/onejob-go/onejob/provider"
)

// turn is what the walk has seen when it chose the next target.
type turn struct {
	p        provider.Provider
	route    provider.Route
	job      onejob.Job // no ID: it is new
	attempts []onejob.Attempt
}

// began tells the walk that an attempt stands and its provider is being asked.
type began struct {
	job     onejob.Job
	attempt onejob.Attempt
}

// outcome is how one Do of the walk ended.
type outcome struct {
	turn     int
	name     string
	job      onejob.Job
	err      error
	stale    onejob.AttemptID // it was begun on an old view, and nobody was asked
	panicked any
}

var errStale = errors.New("the runner's view of the job was old: nobody was asked")

func (w *walk) receive() outcome { return w.received(<-w.outcomes) }

func (w *walk) received(o outcome) outcome {
	w.flying--
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o
}

// attempt makes one attempt and waits for its end or, in a race, until the next
// may go beside it. goOn says that the walk may look for that.
func (w *walk) attempt(ctx context.Context, t turn) (job onejob.Job, goOn bool, err error) {
	begun := make(chan began, 1)
	w.do(ctx, t, begun)
	var patience <-chan time.Time
	var current began
	for {
		select {
		case current = <-begun:
			if w.own == nil {
				w.own = map[onejob.AttemptID]bool{}
			}
			w.own[current.attempt.ID] = true
			if w.r.c.Patience > 0 {
				patience = time.After(w.r.c.Patience)
			}
		case <-patience:
			patience = nil
			if w.detach(ctx, t, current) {
				return current.job, true, nil
			}
		case o := <-w.outcomes:
			w.received(o)
			switch {
			case o.err == nil:
				return o.job, false, nil
			case o.turn != w.turn:
				continue // one that was detached has ended without a result
			case o.stale != "":
				w.stale[o.stale], w.used[o.name] = true, false
				return o.job, true, nil
			case errors.Is(o.err, onejob.ErrFailed):
				return o.job, true, nil
			}
			return o.job, false, stopped(o.job, o.name, o.err)
		}
	}
}

// do runs Jobs.Do, on which all else rests, in a goroutine of its own.
func (w *walk) do(ctx context.Context, t turn, begun chan<- began) {
	w.flying++
	w.turn++
	w.used[t.route.Name] = true
	w.r.late.Add(1)
	o := outcome{turn: w.turn, name: t.route.Name}
	try := w.try(t.job, t.route, t.attempts)
	call := func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
		if a.Number != len(t.attempts)+1 {
			// Others were at it since the walk has looked. Whether this provider was
			// next, and needs its proof, is not known any more.
			o.stale = a.ID
			return nil, onejob.NoEffect(errStale)
		}
		begun <- began{job, a}
		return w.r.call(ctx, t.p, t.route, job, a)
	}
	go func() {
		defer w.r.late.Done()
		defer func() {
			o.panicked = recover()
			select {
			case w.outcomes <- o:
			case <-w.left:
				if o.panicked != nil {
					w.r.log.Error("onejob: a provider panicked, and the run is over", "provider", o.name)
				}
			}
		}()
		o.err = hold.ErrNoReturn
		o.job, o.err = w.r.jobs.Do(ctx, w.in, try, call)
	}()
}

// call asks the provider, and holds the deadline also where the provider does
// not: its answer is then written when it comes, like any other.
func (r *Runner) call(ctx context.Context, p provider.Provider, route provider.Route, job onejob.Job, a onejob.Attempt) ([]byte, error) {
	request := provider.Request{Job: job, Attempt: a, Handle: func(ctx context.Context, ref string) error {
		_, err := r.jobs.SetExternalRef(ctx, a, ref)
		return err
	}}
	gone := false
	r.late.Add(1)
	defer func() {
		if !gone {
			r.late.Done()
		}
	}()
	var reply provider.Reply
	var err error
	reply, gone, err = hold.Call(ctx, func() (provider.Reply, error) { return p.Call(ctx, request) },
		func(reply provider.Reply, err error) {
			defer r.late.Done()
			r.afterDeadline(ctx, route, job, a, reply, err)
		})
	r.keepRef(ctx, a, reply.Ref)
	f := r.judge(route, job, reply, err)
	return f.output, f.err
}

// keepRef keeps the provider's handle. Where that fails the outcome is still
// worth more.
func (r *Runner) keepRef(ctx context.Context, a onejob.Attempt, ref string) {
	if ref == "" || ref == a.ExternalRef {
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
// database that is away is waited for: this is the last that is heard of it.
func (r *Runner) afterDeadline(ctx context.Context, route provider.Route, job onejob.Job, a onejob.Attempt, reply provider.Reply, err error) {
	f := r.judge(route, job, reply, err)
	if !f.known {
		return
	}
	r.keepRef(ctx, a, reply.Ref)
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		_, err = r.write(ctx, a, f)
		if !errors.Is(err, onejob.ErrUnavailable) || wait > time.Minute {
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
