package maintenance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/onejob-go/onejob"
)

const (
	// turnLease is for how long a turn is held while its holder is at work, and
	// renewed: when a process is killed the next one waits no longer. It is above
	// the timeout of a step, and far above what a busy machine may pause a process.
	turnLease = time.Minute
	// turnTimeout bounds asking for a turn.
	turnTimeout = 10 * time.Second
)

// errTurnLost ends a run whose turn another process has: this one was paused for
// longer than the lease, or could not reach the database.
var errTurnLost = errors.New("maintenance: another process has the turn")

// newHolder names this loop among all that there are, for people who look into
// the table too.
func newHolder() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, host)
	return fmt.Sprintf("%.64s/%d/%.8s", host, os.Getpid(), rand.Text())
}

// take asks for the task's turn.
func (l *Loop) take(ctx context.Context, t *task, d time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	return l.op.TakeTurn(ctx, t.turn, l.holder, d)
}

// begin reports whether the run may begin. Its turn, if it has one, is kept
// while it goes.
func (l *Loop) begin(r *run, cancel context.CancelCauseFunc) (bool, error) {
	if r.task.turn == "" {
		return true, nil
	}
	taken, err := l.take(r.ctx, r.task, l.lease)
	switch {
	case givesNone(err):
		l.alone.Do(func() {
			l.log.Warn("onejob: maintenance: the store gives no turns, so each process does all of the work")
		})
		return true, nil
	case err != nil || !taken:
		return false, err
	}
	r.hold = newHold(r.ctx)
	go l.renew(r, cancel)
	return true, nil
}

// givesNone tells a store without the ability from one whose schema is old.
func givesNone(err error) bool {
	var e *onejob.Error
	return errors.As(err, &e) && e.Err == onejob.ErrUnsupported && e.Cause == nil
}

// hold keeps a turn while its run goes on, but not when it hangs: others shall
// have the turn then.
type hold struct {
	ctx   context.Context
	end   context.CancelFunc
	ended chan struct{}
	until atomic.Int64 // when what is under way should be over
}

func newHold(ctx context.Context) *hold {
	h := &hold{ended: make(chan struct{})}
	h.ctx, h.end = context.WithCancel(ctx)
	h.keepFor(0)
	return h
}

// keepFor says how long what comes now may take.
func (h *hold) keepFor(d time.Duration) {
	if h != nil {
		h.until.Store(time.Now().Add(d).UnixNano())
	}
}

// release ends the renewing, and waits for it.
func (h *hold) release() {
	if h != nil {
		h.end()
		<-h.ended
	}
}

// renew takes the turn again and again. A database that does not answer is no
// reason to stop: what the run writes will tell.
func (l *Loop) renew(r *run, cancel context.CancelCauseFunc) {
	h := r.hold
	defer close(h.ended)
	ticker := time.NewTicker(l.lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-ticker.C:
			if now.UnixNano() > h.until.Load()+int64(l.lease/3) {
				continue
			}
		}
		taken, err := l.take(h.ctx, r.task, l.lease)
		if err == nil && !taken {
			l.log.Warn("onejob: maintenance: the turn was lost, and the run is ended", "task", r.task.name)
			cancel(errTurnLost)
			return
		}
	}
}

// leave keeps the turn for a time after the run, so that no other process runs
// the task before it is due again.
func (l *Loop) leave(r *run, d time.Duration) {
	if _, err := l.take(r.s.steps, r.task, d); err != nil {
		l.log.Warn("onejob: maintenance: the turn could not be passed on, it ends by itself", "task", r.task.name, "class", class(err))
	}
}
