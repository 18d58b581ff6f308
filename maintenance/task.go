package maintenance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// task is one thing that is done again and again, never twice at once in this
// process.
type task struct {
	name    string
	every   time.Duration
	turn    string // the name of its turn; "": it needs none
	gentle  bool   // the step that is under way when the loop stops is let finish
	run     func(r *run) error
	record  record
	failing int // runs that failed in a row
}

// keep runs the task until the loop is stopped. It begins at a random moment of
// the interval, and each interval is a little longer or shorter than the last:
// processes that were started at once do not stay in step.
func (l *Loop) keep(s *session, t *task) {
	delay := l.random(t.every)
	for s.sleep(delay) {
		l.attend(s, t)
		delay = l.jittered(t.delay())
	}
}

// jitter is by how much an interval differs at most, of a hundred.
const jitter = 15

func (l *Loop) jittered(d time.Duration) time.Duration {
	most := d * jitter / 100
	return d - most + l.random(2*most)
}

// delay is the interval, or less after an error: what failed is tried again
// soon, and then less and less often, until it is the interval.
func (t *task) delay() time.Duration {
	if t.failing == 0 {
		return t.every
	}
	d := max(t.every/8, time.Second)
	for range t.failing - 1 {
		if d >= t.every {
			break
		}
		d *= 2
	}
	return min(d, t.every)
}

// run is a task under way.
type run struct {
	loop *Loop
	s    *session
	task *task
	ctx  context.Context // ends where the run must: its cause says why
	hold *hold           // nil: there is no turn
}

// attend takes the turn, where the task needs one, and runs the task.
func (l *Loop) attend(s *session, t *task) {
	base := s.open
	if t.gentle {
		base = s.steps
	}
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	r := &run{loop: l, s: s, task: t, ctx: ctx}
	taken, err := l.begin(r, cancel)
	if err == nil && !taken {
		t.record.skip(time.Now())
		l.log.Debug("onejob: maintenance: another process has the turn", "task", t.name)
		return
	}
	t.record.begin(time.Now())
	if err == nil && s.stopping() {
		err = errStopped // while the turn was asked for
	}
	if err == nil {
		err = r.protected()
	}
	r.hold.release()
	l.end(r, err)
}

// protected runs the task on a goroutine of its own: the host's code may panic,
// or end its goroutine.
func (r *run) protected() (err error) {
	ended := make(chan error, 1)
	go func() {
		err := errPanic
		returned := false
		defer func() {
			if v := recover(); !returned {
				r.loop.log.Error("onejob: maintenance: a panic", "task", r.task.name,
					"type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			}
			ended <- err
		}()
		err = r.task.run(r)
		returned = true
	}()
	return <-ended
}

var errPanic = errors.New("maintenance: a panic")

// end counts what has come of a run, and passes the turn on.
func (l *Loop) end(r *run, err error) {
	t, cause := r.task, context.Cause(r.ctx)
	switch {
	case err == nil:
		t.failing = 0
		t.record.succeed(time.Now())
		l.log.Debug("onejob: maintenance: done", "task", t.name)
	case errors.Is(cause, errTurnLost):
		t.record.lose()
		return // it is another's
	case errors.Is(cause, errStopped), errors.Is(err, errStopped):
		t.record.stop()
		return // it ends by itself, soon
	default:
		t.failing++
		t.record.fail(time.Now(), err)
		l.complain(t, err)
	}
	if r.hold != nil {
		l.leave(r, t.delay())
	}
}

// step runs one step under its timeout.
func (r *run) step(timeout time.Duration, do func(ctx context.Context) error) error {
	r.hold.keepFor(timeout)
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	return do(ctx)
}

// pause rests between two steps. It fails where the next one may not begin.
func (r *run) pause(d time.Duration) error {
	r.hold.keepFor(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.s.open.Done():
	case <-r.ctx.Done():
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.s.stopping() {
		return errStopped
	}
	return nil
}
