package otelonejob

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
)

// doubt is what stands of a provider.
type doubt struct {
	count  int64
	oldest time.Time // since when the oldest is in doubt
}

// watch keeps the last answer of the database.
type watch struct {
	o        *Observer
	operator *onejob.Operator
	interval time.Duration
	timeout  time.Duration
	wait     time.Duration
	limit    int
	now      func() time.Time
	ctx      context.Context
	cancel   context.CancelFunc
	reading  chan struct{} // holds one token while the database is being read

	mu     sync.Mutex
	asked  time.Time // when the last look-up began
	answer map[string]doubt
	at     time.Time // when the answer was asked for; zero where there is none
}

func newWatch(o *Observer, operator *onejob.Operator, opts *WatchOptions) *watch {
	var w WatchOptions
	if opts != nil {
		w = *opts
	}
	if w.Interval <= 0 {
		w.Interval = time.Minute
	}
	if w.Timeout <= 0 {
		w.Timeout = 10 * time.Second
	}
	if w.Wait <= 0 {
		w.Wait = time.Second
	}
	if w.Limit <= 0 {
		w.Limit = 10_000
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &watch{
		o: o, operator: operator, interval: w.Interval, timeout: w.Timeout, wait: w.Wait, limit: w.Limit,
		now: time.Now, ctx: ctx, cancel: cancel, reading: make(chan struct{}, 1),
	}
}

// doubts returns the answer to report, if there is one.
func (w *watch) doubts(ctx context.Context) (map[string]doubt, bool) {
	now := w.now()
	w.mu.Lock()
	due := w.asked.IsZero() || now.Sub(w.asked) >= w.interval
	if due {
		w.asked = now
	}
	w.mu.Unlock()
	if due {
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.lookUp(now)
		}()
		wait := time.NewTimer(w.wait)
		defer wait.Stop()
		select {
		case <-done:
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at.IsZero() || now.Sub(w.at) > 2*w.interval {
		return nil, false
	}
	return maps.Clone(w.answer), true
}

// lookUp asks the database, and gives up waiting after the timeout also where
// its driver does not.
func (w *watch) lookUp(now time.Time) {
	answer, err := w.ask()
	outcome := outcomeOK
	if err != nil {
		outcome = outcomeError
	}
	if w.ctx.Err() != nil {
		return // it was stopped: that is no failure
	}
	w.o.inst.lookups.Add(context.Background(), 1, w.o.series.of(labels{outcome: outcome}).add...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.answer, w.at = nil, time.Time{}
		return
	}
	w.answer, w.at = answer, now
}

var (
	errSilent = errors.New("no answer in time")
	errBusy   = errors.New("an earlier look-up still waits for its answer")
)

func (w *watch) ask() (map[string]doubt, error) {
	select {
	case w.reading <- struct{}{}:
	default:
		return nil, errBusy // so that a driver that waits for ever holds one goroutine and one connection
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.timeout)
	type reply struct {
		answer map[string]doubt
		err    error
	}
	replies := make(chan reply, 1)
	go func() {
		defer cancel()
		answer, err := w.read(ctx)
		<-w.reading // before the reply: who has that may ask again
		replies <- reply{answer, err}
	}()
	select {
	case r := <-replies:
		return r.answer, r.err
	case <-ctx.Done():
		select {
		case r := <-replies: // it was the end of the reading that ended ctx
			return r.answer, r.err
		default:
			return nil, errSilent
		}
	}
}

// read counts what stands by the providers that metrics tell apart. Providers
// that are known are there with zero: a gauge that goes away is not one that
// falls.
func (w *watch) read(ctx context.Context) (map[string]doubt, error) {
	answer := map[string]doubt{}
	n := 0
	for entry, err := range w.operator.Attempts(ctx, onejob.Filter{States: []onejob.State{onejob.StateUnknown}}) {
		if err != nil {
			return nil, err
		}
		provider := w.o.provider(entry.Attempt.Provider)
		d := answer[provider]
		if since := inDoubtSince(entry.Attempt); d.count == 0 || since.Before(d.oldest) {
			d.oldest = since
		}
		d.count++
		answer[provider] = d
		if n++; n >= w.limit {
			break
		}
	}
	known := w.o.series.providers.all()
	switch {
	case w.o.series.providers.max < 0:
		known = []string{""} // they are not told apart
	case len(known) == 0:
		known = []string{none}
	}
	for _, provider := range known {
		if _, ok := answer[provider]; !ok {
			answer[provider] = doubt{}
		}
	}
	return answer, nil
}

// inDoubtSince is the deadline of an attempt from which nobody came back, however
// long it was given: it was well until then. When a call ended in doubt is not
// stored; that counts from its beginning, so it is never told too young.
func inDoubtSince(a onejob.Attempt) time.Time {
	if a.Cause == "" {
		return a.Deadline
	}
	return a.StartedAt
}
