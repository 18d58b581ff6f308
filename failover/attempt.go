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

var (
	errStale = errors.New("the runner's view of the job was old: nobody was asked")
	errSlow  = errors.New("the attempt's time was over before anybody was asked")
)

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
	silent := false
	for {
		select {
		case current = <-begun:
			w.mine(current.attempt.ID)
			if w.r.c.Patience > 0 {
				patience = time.After(w.r.c.Patience)
			}
		case <-patience:
			silent, patience = true, nil
		case o := <-w.outcomes:
			w.received(o)
			switch {
			case o.err == nil:
				return o.job, false, nil
			case o.turn != w.turn: // one that was detached has ended without a result
			case o.stale != "":
				w.stale[o.stale], w.used[o.name] = true, false
				return o.job, true, nil
			case errors.Is(o.err, onejob.ErrFailed):
				w.r.logFailed(o)
				return o.job, true, nil
			default:
				w.r.neverAsked(o.err)
				return o.job, false, stopped(o.job, o.name, o.err)
			}
		}
		if silent && w.running(t) < w.r.c.Racers && w.detach(ctx, t, current) {
			return current.job, true, nil
		}
	}
}

// mine marks an attempt that this run waits for.
func (w *walk) mine(id onejob.AttemptID) {
	if w.own == nil {
		w.own = map[onejob.AttemptID]bool{}
	}
	w.own[id] = true
}

// do runs Jobs.Do, on which all else rests, in a goroutine of its own.
func (w *walk) do(ctx context.Context, t turn, begun chan<- began) {
	w.flying++
	w.turn++
	w.used[t.route.Name] = true
	w.r.late.Add()
	o := outcome{turn: w.turn, name: t.route.Name}
	try := w.try(t.job, t.route, t.attempts)
	begin := time.Now()
	call := func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
		if err := w.mayCall(ctx, t, try, a); err != nil {
			o.stale = a.ID
			return nil, onejob.NoEffect(err)
		}
		// The time that the beginning took is the attempt's too: who waited long
		// for the database, or was frozen, may be taken for dead by others.
		left := a.Timeout - since(begin)
		if left <= 0 {
			return nil, onejob.NoEffect(errSlow)
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		begun <- began{job, a}
		return w.r.call(ctx, t.p, t.route, job, a)
	}
	go func() {
		defer w.r.late.Done()
		defer func() {
			o.panicked = recover()
			select {
			case w.outcomes <- o:
			case <-w.left: // who panicked has been logged
			}
		}()
		o.err = hold.ErrNoReturn
		o.job, o.err = w.r.jobs.Do(ctx, w.in, try, call)
	}()
}

// since is the time that has passed by either clock of this machine: the one
// that goes on while a machine sleeps, and the one that nobody sets.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// mayCall looks again where others were at the job since the walk has looked:
// whether this provider needs its proof, and has tries left, was decided on an
// old view.
func (w *walk) mayCall(ctx context.Context, t turn, try onejob.Try, a onejob.Attempt) error {
	if a.Number == len(t.attempts)+1 {
		return nil
	}
	attempts, err := w.r.jobs.Attempts(ctx, w.in.Owner, a.JobID)
	if err != nil {
		return errStale
	}
	attempts = attempts[:min(len(attempts), a.Number-1)] // those before it
	tried, blocked := triesOf(t.route.Name, attempts, w.stale)
	if blocked || tried >= w.r.c.Tries || w.r.c.Contract != nil && try.Require == nil && !isFirst(t.route, attempts) {
		return errStale
	}
	return nil
}
