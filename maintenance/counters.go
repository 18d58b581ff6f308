package maintenance

import (
	"strings"
	"sync"
	"time"
)

// Counters are what a loop has done in this process since it was made.
type Counters struct {
	Sweep Task
	// Reconcile is by Reconcile.Name.
	Reconcile map[string]Task
	Purge     Task
}

// Task is what became of one task. All of a task that does not run is zero.
type Task struct {
	// Runs is how many runs have begun. Of them Errors did not end well, Panics of
	// those by a panic; Lost is how many were given up because another process
	// had the turn by then, Stopped because the loop was stopped, and Full how
	// many left work to the next, at the limit of a run.
	Runs, Errors, Panics, Lost, Stopped, Full int64
	// Skipped is how often another process had the turn.
	Skipped int64
	// Swept counts attempts that a sweep made unknown, Asked those that a
	// reconcile asked about, Ended those of which it then knew what they did, and
	// Purged the jobs that a purge has emptied or removed.
	Swept, Asked, Ended, Purged int64
	// Running is that a run is under way now, since LastRun.
	Running bool
	// LastRun is when the last run began, LastSuccess when one last ended well,
	// and LastSkipped when another process last had the turn. A task is kept up if
	// one of the latter two is not older than some three intervals, and in one of
	// the fleet's processes LastSuccess is not: a turn that was taken for a longer
	// interval than is set now outlives its loop, until its row is deleted.
	LastRun, LastSuccess, LastSkipped time.Time
	// LastError is the class of the last error (timeout, unavailable, unsupported,
	// invalid, refused, panic, other), at LastErrorAt; "" since a run ended well.
	LastError   string
	LastErrorAt time.Time
}

// Counters returns them as they stand, each task's at one instant.
func (l *Loop) Counters() Counters {
	c := Counters{Reconcile: map[string]Task{}}
	for _, t := range l.tasks {
		switch name, isReconcile := strings.CutPrefix(t.name, "reconcile "); {
		case isReconcile:
			c.Reconcile[name] = t.record.snapshot()
		case t.name == "sweep":
			c.Sweep = t.record.snapshot()
		default:
			c.Purge = t.record.snapshot()
		}
	}
	return c
}

// record counts.
type record struct {
	mu sync.Mutex
	c  Task
}

func (r *record) add(change func(c *Task)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.c)
}

func (r *record) snapshot() (c Task) {
	r.add(func(now *Task) { c = *now })
	return c
}

func (r *record) skip(now time.Time) {
	r.add(func(c *Task) {
		c.Skipped++
		c.LastSkipped = now
	})
}

func (r *record) begin(now time.Time) {
	r.add(func(c *Task) {
		c.Runs++
		c.Running, c.LastRun = true, now
	})
}

func (r *record) succeed(now time.Time) {
	r.add(func(c *Task) { c.Running, c.LastSuccess, c.LastError = false, now, "" })
}

func (r *record) lose() {
	r.add(func(c *Task) {
		c.Running = false
		c.Lost++
	})
}

func (r *record) stop() {
	r.add(func(c *Task) {
		c.Running = false
		c.Stopped++
	})
}

func (r *record) fail(now time.Time, err error) {
	r.add(func(c *Task) {
		c.Running = false
		c.Errors++
		if err == errPanic {
			c.Panics++
		}
		c.LastError, c.LastErrorAt = class(err), now
	})
}
