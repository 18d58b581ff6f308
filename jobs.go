package onejob

import (
	"context"
	"database/sql"
	"log/slog"
	"math"
	"reflect"
	"sync"
	"time"
)

// Jobs creates jobs, begins attempts and completes them. Its methods are safe
// for use by many goroutines, and any number of processes may share a
// database. Every method that changes something is safe to repeat.
type Jobs struct {
	store       Store
	txStore     TxStore // nil where the store has no transactions
	log         *slog.Logger
	now         func() time.Time
	newID       func() string
	maxParams   int
	maxResult   int
	maxAttempts int
	onComplete  func(ctx context.Context, tx *sql.Tx, job Job) error
	observer    Observer // nil where nobody asks
	notifier    Notifier // nil where there is none
	waiting     waitRoom
	txs         sync.Map // *sql.Tx of a running Tx → *openTx
	txKey       any      // under which a context carries its transaction
}

// Options are the settings of [New]. The zero value of each field means its
// default.
type Options struct {
	// Logger gets a line for each late result that was thrown away. Its lines
	// carry IDs, sizes and digests. Default: silence.
	Logger *slog.Logger
	// Now is the clock of stores that have none of their own (SQLite); it is
	// not asked on PostgreSQL. No safety rule rests on it. It may be called on
	// the goroutine of another caller, whose commit is shared. Default: time.Now.
	Now func() time.Time
	// NewID makes the IDs: it must return a new UUID in lower case with each
	// call. Default: UUIDs of version 7, which sort by the time they were made.
	NewID func() string
	// MaxParams is the limit of Intent.Params in bytes. Default: 256 KiB; at
	// most 16 MiB.
	MaxParams int
	// MaxResult is the limit of a result in bytes. Default: 1 MiB; at most
	// 16 MiB.
	MaxResult int
	// MaxAttempts is how many attempts a job may have. Default: 32.
	MaxAttempts int
	// OnComplete runs inside the transaction of the swap, whoever completes the
	// job: a handler, a webhook, a runner, Reconcile, an operator. It is the
	// one place for the host's own rows: its error undoes both and comes back
	// to whoever was completing. It never runs for a loser, and not in
	// CompleteTx, whose caller has a transaction at hand. It may run again, in a
	// new transaction, when COMMIT gives no answer, and on SQLite when a write
	// that shares its commit fails: keep its effects inside tx.
	//
	// Use tx and the context handed in: other operations of this Jobs that
	// write are refused under it, for they would wait for this transaction.
	OnComplete func(ctx context.Context, tx *sql.Tx, job Job) error
	// Notifier tells other processes what may end a Wait there, and hears it from
	// them. Default: each process looks by itself.
	Notifier Notifier
	// Observer hears of every operation. Default: nobody does, at no cost.
	Observer Observer
}

// New returns a Jobs over store. Nil options mean the defaults. A limit above
// its maximum counts as the maximum.
func New(store Store, opts *Options) *Jobs {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Jobs{
		store:       store,
		log:         o.Logger,
		now:         o.Now,
		newID:       o.NewID,
		maxParams:   limitOr(o.MaxParams, 256<<10),
		maxResult:   limitOr(o.MaxResult, 1<<20),
		maxAttempts: o.MaxAttempts,
		onComplete:  o.OnComplete,
		observer:    o.Observer,
		notifier:    o.Notifier,
	}
	s.txStore, _ = store.(TxStore)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = newUUIDv7
	}
	if s.maxAttempts <= 0 {
		s.maxAttempts = 32
	}
	s.maxAttempts = min(s.maxAttempts, math.MaxInt32)
	s.txKey = s
	if v := reflect.ValueOf(store); v.IsValid() && v.Comparable() {
		s.txKey = store // so that a Jobs and its twin on the same store know each other's
	}
	if s.notifier != nil {
		s.notifier.Subscribe(s.waiting.hint)
	}
	return s
}

func limitOr(n, or int) int {
	if n <= 0 {
		return or
	}
	return min(n, maxPayload)
}

// clock is what stores get: whole microseconds, UTC. Nanoseconds that are
// stored cut and compared whole make an equal time unequal.
func (s *Jobs) clock() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// rounds is how often a step is tried that lost a race to something that is
// gone when looked for.
const rounds = 3

// errUndecided is returned after that many.
const errUndecided = ruleError("the step lost a race each time it was tried")
