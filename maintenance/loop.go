package maintenance

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errRuns refuses a second run beside the first.
var errRuns = errors.New("maintenance: the loop runs already, or has not ended yet: call Stop and wait for it first")

// session is one stretch from start to stop.
type session struct {
	steps context.Context // ends when nobody waits any more
	cut   context.CancelCauseFunc
	open  context.Context // ends when it is to stop: what is under way goes on
	stop  context.CancelCauseFunc
	done  chan struct{} // closed when all tasks have ended
}

var errStopped = errors.New("maintenance: the loop was stopped")

// Run runs the loop until ctx ends or [Loop.Stop] is called, and returns when
// all of it has ended: a sweep or a step of a purge that is under way is let
// finish, questions of a [Reconcile] are given up. So it returns within a step's
// timeout, unless a Reconcile.Run ignores its context. The error is not nil only
// where the loop runs already.
func (l *Loop) Run(ctx context.Context) error {
	s, err := l.start(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-s.open.Done():
	}
	s.stop(errStopped)
	<-s.done
	return nil
}

// Start starts the loop and returns; [Loop.Stop] stops it. It is refused where
// the loop runs already. A loop that was stopped may be started again.
func (l *Loop) Start() error {
	_, err := l.start(context.Background())
	return err
}

func (l *Loop) start(ctx context.Context) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil && !l.session.over() {
		return nil, errRuns
	}
	s := &session{done: make(chan struct{})}
	s.steps, s.cut = context.WithCancelCause(ctx)
	s.open, s.stop = context.WithCancelCause(s.steps)
	l.session = s
	l.log.Info("onejob: maintenance: started", "holder", l.holder, "tasks", len(l.tasks))
	var group sync.WaitGroup
	for _, t := range l.tasks {
		group.Go(func() { l.keep(s, t) })
	}
	go func() {
		group.Wait()
		<-s.open.Done()
		s.cut(errStopped)
		close(s.done)
	}()
	return s, nil
}

// Stop stops the loop: nothing new begins, the questions of a [Reconcile] are
// given up, and it waits for the step that is under way. When ctx ends before
// that is over, the step is cut off (its transaction is rolled back) and the
// error is ctx's; a second Stop waits again. A loop that does not run is stopped.
func (l *Loop) Stop(ctx context.Context) error {
	l.mu.Lock()
	s := l.session
	l.mu.Unlock()
	if s == nil {
		return nil
	}
	s.stop(errStopped)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	s.cut(errStopped)
	if s.over() {
		return nil
	}
	return context.Cause(ctx)
}

func (s *session) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// stopping reports whether nothing new may begin.
func (s *session) stopping() bool { return s.open.Err() != nil }

// sleep waits, and reports false where the loop is to stop.
func (s *session) sleep(d time.Duration) bool {
	if s.stopping() {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !s.stopping()
	case <-s.open.Done():
		return false
	}
}
