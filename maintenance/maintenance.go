// Package maintenance keeps a database of jobs in order while a host runs: it
// sweeps overdue attempts, has unknown ones asked about, and purges what is old,
// each at its own interval. Nothing runs unless a [Loop] is started, and then
// only what its [Config] asks for.
//
// Any number of processes may run a loop on one database. What need not be done
// by each of them (asking, purging) is done in turns: see
// [onejob.Operator.TakeTurn]. No safety rests on any of it: without a loop an
// overdue attempt still reads as unknown, and nothing is lost.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

// Config says what a [Loop] does. A task whose Every is zero does not run. All
// processes that share a database should be given the same.
type Config struct {
	Sweep     Sweep
	Reconcile []Reconcile
	Purge     Purge
	// Logger gets what went wrong, with IDs and classes of errors, and at debug
	// level each run: nil is silence.
	Logger *slog.Logger
}

// Sweep makes durable that overdue attempts are unknown (Operator.Sweep). Each
// process sweeps: it is one short statement, and they do not wait for each other.
type Sweep struct {
	// Every is the interval; zero does not sweep. A minute is plenty: readers see
	// overdue attempts as unknown at once, swept or not.
	Every time.Duration
	// Limit is how many attempts one step takes; while a step finds as many,
	// another follows, a little later. Default: 200, which holds SQLite's writer
	// for some 30 ms and locks nothing that others wait for on PostgreSQL.
	Limit int
	// Timeout bounds one step. Default: 30 s, which no healthy database needs.
	Timeout time.Duration
}

// Reconcile asks about unknown attempts. It is done in turns: once per interval
// by one of the processes, not once by each.
type Reconcile struct {
	// Name tells several apart, in the counters and as the name of the turn, of
	// 1 to 40 bytes. Processes that ask the same give the same name. Default:
	// "default".
	Name string
	// Every is the interval; zero does not ask.
	Every time.Duration
	// Timeout bounds one run. Default: 10 minutes, for a run is many questions, and
	// each has a timeout of its own.
	Timeout time.Duration
	// Run asks: [Ask] makes one of a function that looks up an attempt. Where jobs
	// run through a failover.Runner it is that one's Reconcile:
	//
	//	Run: func(ctx context.Context) (maintenance.Pass, error) {
	//		pass, err := runner.Reconcile(ctx, failover.ReconcileOptions{})
	//		return maintenance.Pass{Asked: pass.Asked, Ended: pass.Ended}, err
	//	},
	//
	// in the place of its ReconcileEvery, which knows no turns. Its ctx ends after
	// the timeout, when the loop is stopped, and when the turn is lost; it must
	// return then. A panic counts as an error. Required.
	Run func(ctx context.Context) (Pass, error)
}

// Pass is what one run of a [Reconcile] has come to.
type Pass struct {
	// Asked is how many attempts were asked about, Ended of how many of them it is
	// now known what they did.
	Asked, Ended int
}

// Purge empties and removes old jobs (Operator.Purge), in turns, as Reconcile is.
type Purge struct {
	// Every is the interval; zero does not purge.
	Every time.Duration
	// Retention says how long to keep what. Required: there is no default age at
	// which data may go.
	Retention onejob.Retention
	// Limit is how many jobs one step takes, which is one short transaction.
	// Default: 100, some 20 ms.
	Limit int
	// Pause is the rest between two steps, in which the host's own work has the
	// database. Default: 100 ms, so that a backlog takes a sixth of it.
	Pause time.Duration
	// MaxPerTurn is how many jobs one run takes at most; the rest waits for the
	// next one (Task.Full). Default: 100,000, some two minutes.
	MaxPerTurn int
	// Timeout bounds one step. Default: 30 s.
	Timeout time.Duration
}

// Loop runs the tasks of a [Config]. It is safe for use by many goroutines.
type Loop struct {
	op     *onejob.Operator
	log    *slog.Logger
	holder string
	tasks  []*task
	alone  sync.Once                               // says that there are no turns
	random func(below time.Duration) time.Duration // from 0
	lease  time.Duration                           // of a turn, while its holder is at work

	mu      sync.Mutex
	session *session // the last one
}

// New checks the settings and returns a loop that does not run yet. Its error
// names the field.
func New(jobs *onejob.Jobs, c Config) (*Loop, error) {
	if jobs == nil {
		return nil, errors.New("maintenance: jobs is required")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	l := &Loop{
		op: onejob.NewOperator(jobs), log: c.Logger, holder: newHolder(), random: randomBelow, lease: turnLease,
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if c.Sweep.Every > 0 {
		l.tasks = append(l.tasks, l.sweeping(c.Sweep))
	}
	for _, r := range c.Reconcile {
		if r.Every > 0 {
			l.tasks = append(l.tasks, l.reconciling(r))
		}
	}
	if c.Purge.Every > 0 {
		l.tasks = append(l.tasks, l.purging(c.Purge))
	}
	return l, nil
}

func randomBelow(below time.Duration) time.Duration { return rand.N(max(below, 1)) }

// check refuses what cannot be meant.
func (c Config) check() error {
	s, p := c.Sweep, c.Purge
	switch {
	case s.Every < 0, s.Limit < 0, s.Timeout < 0:
		return errors.New("maintenance: Config.Sweep must hold nothing negative")
	case p.Every < 0, p.Limit < 0, p.Timeout < 0, p.Pause < 0, p.MaxPerTurn < 0:
		return errors.New("maintenance: Config.Purge must hold nothing negative")
	case p.Retention.Payloads < 0, p.Retention.Tombstones < 0:
		return errors.New("maintenance: Config.Purge.Retention must not be negative")
	case p.Retention.Tombstones > 0 && p.Retention.Tombstones < p.Retention.Payloads:
		return errors.New("maintenance: Config.Purge.Retention.Tombstones must not be less than Payloads")
	case p.Every > 0 && p.Retention == onejob.Retention{}:
		return errors.New("maintenance: Config.Purge.Retention is required: zero keeps for ever")
	}
	if tooOften(s.Every) {
		return errors.New("maintenance: Config.Sweep.Every is below a millisecond: is its unit missing?")
	}
	if tooOften(p.Every) {
		return errors.New("maintenance: Config.Purge.Every is below a millisecond: is its unit missing?")
	}
	names := map[string]bool{}
	for i, r := range c.Reconcile {
		switch {
		case r.Every < 0, r.Timeout < 0:
			return fmt.Errorf("maintenance: Config.Reconcile[%d] must hold nothing negative", i)
		case tooOften(r.Every):
			return fmt.Errorf("maintenance: Config.Reconcile[%d].Every is below a millisecond: is its unit missing?", i)
		case r.Run == nil:
			return fmt.Errorf("maintenance: Config.Reconcile[%d].Run is required", i)
		case len(r.Name) > maxName || !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, unicode.IsControl):
			return fmt.Errorf("maintenance: Config.Reconcile[%d].Name must be UTF-8 of at most %d bytes, without control characters", i, maxName)
		case names[r.name()]:
			return fmt.Errorf("maintenance: Config.Reconcile[%d].Name is another's: give each its own", i)
		}
		names[r.name()] = true
	}
	return nil
}

func tooOften(every time.Duration) bool { return every > 0 && every < time.Millisecond }

// maxName leaves room for what stands before it in a turn's name.
const maxName = 40

func (r Reconcile) name() string { return orElse(r.Name, "default") }

// orElse is v, or the default where v is zero.
func orElse[T comparable](v, otherwise T) T {
	if v == *new(T) {
		return otherwise
	}
	return v
}
