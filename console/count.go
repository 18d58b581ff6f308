package console

import (
	"context"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
)

// counts keep the last counting, and let one at a time count anew.
type counts struct {
	mu      sync.Mutex
	last    counted
	failed  time.Time     // when the last counting failed; zero: it did not
	running chan struct{} // closed when the counting that is under way is over; nil: none is
}

// get returns the newest counts there are, none where there never were any. It has
// them counted anew where they are old, and waits for that only part of the time
// that a page has: a table may be so large that counting takes longer than that.
func (c *counts) get(ctx context.Context, v *view) counted {
	c.mu.Lock()
	last, running := c.last, c.running
	if v.young(last.At) {
		c.mu.Unlock()
		return last
	}
	// One that has failed is not begun again by each who reloads the page.
	if running == nil && !v.young(c.failed) {
		running = make(chan struct{})
		c.running = running
		go c.count(context.WithoutCancel(ctx), v.Console, v.now)
	}
	c.mu.Unlock()
	if running == nil {
		return last
	}
	wait := time.NewTimer(v.o.Timeout / 2)
	defer wait.Stop()
	select {
	case <-running:
	case <-wait.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (v *view) young(t time.Time) bool {
	age := v.now.Sub(t)
	return !t.IsZero() && age >= 0 && age < v.o.CountEvery
}

// count goes on when the page is done, for the next one.
func (c *counts) count(ctx context.Context, console *Console, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 3*console.o.Timeout)
	defer cancel()
	n, err := held(ctx, func() (counted, error) { return console.counted(ctx, now) })
	if err != nil {
		console.o.Logger.ErrorContext(ctx, "console: nothing was counted", "err", logged(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last, c.failed = n, time.Time{}
	} else {
		c.failed = now
	}
	close(c.running)
	c.running = nil
}

func (c *Console) counted(ctx context.Context, now time.Time) (counted, error) {
	stats, err := c.op.Stats(ctx)
	if err != nil {
		return counted{}, err
	}
	n := counted{Stats: stats, At: now}
	// Hours by the clock, so that a bar is the same hour at each look.
	from := n.From()
	for e, err := range c.op.Attempts(ctx, onejob.Filter{Late: true, LateSince: from}) {
		if err != nil {
			return counted{}, err
		}
		if n.RacesAll == maxRaces {
			n.More = true
			break
		}
		hour := min(max(int(e.Attempt.LateAt.Sub(from)/time.Hour), 0), hours-1)
		n.Races[hour]++
		n.RacesAll++
	}
	return n, nil
}
