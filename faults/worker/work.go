package worker

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/onejob-go/onejob"
	h "github.com/onejob-go/onejob/faults/history"
)

// work runs until stdin ends.
func work(c Config, stdin io.Reader) error {
	idle, err := inUse()
	if err != nil {
		return err
	}
	store, closeStore, err := open(c)
	if err != nil {
		return err
	}
	log, err := h.Append(c.History, c.Name)
	if err != nil {
		return err
	}
	texts, err := os.OpenFile(c.Texts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		stop.Store(true)
	}()
	var all sync.WaitGroup
	for n := range c.Goroutines {
		all.Go(func() {
			hand := newHand(c, n, store, log, texts)
			for !stop.Load() {
				hand.one()
			}
		})
	}
	all.Wait()
	closeStore()
	return idle.back(2 + 2) // its two logs, and what the runtime polls with
}

// hand is one goroutine of a worker.
type hand struct {
	Config
	rng   *rand.Rand
	jobs  *onejob.Jobs
	op    *onejob.Operator
	log   *h.Log
	texts io.Writer
	mints []string // what NewID gives next
	views map[int]*view
	skew  time.Duration
}

// view is what a hand knows of a key.
type view struct {
	job      onejob.Job
	attempts []onejob.Attempt
	results  map[onejob.AttemptID][]byte // what it brought, by attempt
}

func newHand(c Config, n int, store onejob.Store, log *h.Log, texts io.Writer) *hand {
	w := &hand{Config: c, rng: rand.New(rand.NewPCG(c.Seed, uint64(n))), log: log, texts: texts, views: map[int]*view{}}
	opts := &onejob.Options{
		Now:         w.now,
		NewID:       w.mint,
		MaxAttempts: 8,
		Logger:      slog.New(slog.NewTextHandler(texts, nil)),
	}
	if c.Hook {
		opts.OnComplete = OnComplete
	}
	w.jobs = onejob.New(store, opts)
	w.op = onejob.NewOperator(w.jobs)
	return w
}

// OnComplete writes the host's row of a completed job. The table has no unique
// key: a row too many shall show.
func OnComplete(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1, $2)", string(job.ID), string(job.Attempt.ID))
	return err
}

// now is a clock that is wrong, jumps, and goes backwards.
func (w *hand) now() time.Time {
	if w.Skew > 0 && w.rng.IntN(50) == 0 {
		w.skew = time.Duration(w.rng.Int64N(2*int64(w.Skew))) - w.Skew
	}
	return time.Now().Add(w.skew)
}

// mint gives the IDs that were written down before the call.
func (w *hand) mint() string {
	if len(w.mints) == 0 {
		return uuid.Must(uuid.NewV7()).String()
	}
	id := w.mints[0]
	w.mints = w.mints[1:]
	return id
}

// own is an attempt's own part of an ID made from a UUID, as the library does it.
func own(id string) string { return id[19:23] + id[24:] }

// key picks one of the keys in play, and forgets those that are out of it.
func (w *hand) key() (int, *view) {
	newest := int((h.Now() - w.Began) / int64(w.KeyEvery))
	n := max(0, newest-w.rng.IntN(w.Window))
	for k := range w.views {
		if k < newest-3*w.Window {
			delete(w.views, k)
		}
	}
	v := w.views[n]
	if v == nil {
		v = &view{results: map[onejob.AttemptID][]byte{}}
		w.views[n] = v
	}
	return n, v
}
