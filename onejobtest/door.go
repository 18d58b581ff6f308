package onejobtest

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
)

// door is the store as the library meets it: everything passes here, with the
// test's clock and the test's faults. It embeds nothing, so that a method that
// an interface gains does not pass by it.
type door struct {
	store *onejob.SQLiteStore

	mu    sync.Mutex
	now   time.Time
	link  link
	marks map[onejob.AttemptID]marks
}

var (
	_ onejob.Store         = (*door)(nil)
	_ onejob.TxStore       = (*door)(nil)
	_ onejob.OperatorStore = (*door)(nil)
)

func newDoor(store *onejob.SQLiteStore, now time.Time) *door {
	return &door{store: store, now: now, marks: map[onejob.AttemptID]marks{}}
}

func (d *door) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *door) advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by.Truncate(time.Microsecond))
}

// Create implements [onejob.Store].
func (d *door) Create(ctx context.Context, p onejob.CreateParams) (rec onejob.Record, err error) {
	p.Clock = d.clock
	err = d.pass(func() (wrote bool, err error) {
		rec, err = d.store.Create(ctx, p)
		return rec.Job.ID == p.ID, err
	})
	return answer(rec, err)
}

// Start implements [onejob.Store].
func (d *door) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	p.Clock, try.Clock = d.clock, d.clock
	var rec onejob.Record
	var begun bool
	err := d.pass(func() (wrote bool, err error) {
		rec, begun, err = d.store.Start(ctx, p, try)
		return rec.Job.ID == p.ID, err // also alone, for a provider that is not qualified
	})
	if err != nil {
		return onejob.Record{}, false, err
	}
	return rec, begun, nil
}

// Begin implements [onejob.Store].
func (d *door) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	p.Clock = d.clock
	return d.step(func() (onejob.Record, bool, error) { return d.store.Begin(ctx, p) })
}

// Complete implements [onejob.Store]. A swap that is lost writes too: the
// evidence.
func (d *door) Complete(ctx context.Context, p onejob.CompleteParams) (rec onejob.Record, won bool, err error) {
	p.Clock = d.clock
	err = d.pass(func() (wrote bool, err error) {
		rec, won, err = d.store.Complete(ctx, p)
		return true, err
	})
	rec, err = answer(rec, err)
	return rec, won && err == nil, err
}

// Settle implements [onejob.Store].
func (d *door) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	p.Clock = d.clock
	return d.step(func() (onejob.Record, bool, error) {
		rec, applied, err := d.store.Settle(ctx, p)
		if applied && err == nil && rec.Attempt != nil {
			d.mark(*rec.Attempt, rec.Now)
		}
		return rec, applied, err
	})
}

// Amend implements [onejob.Store].
func (d *door) Amend(ctx context.Context, p onejob.AmendParams) (onejob.Record, bool, error) {
	p.Clock = d.clock
	return d.step(func() (onejob.Record, bool, error) { return d.store.Amend(ctx, p) })
}

// CancelJob implements [onejob.Store].
func (d *door) CancelJob(ctx context.Context, p onejob.CancelParams) (onejob.Record, bool, error) {
	p.Clock = d.clock
	return d.step(func() (onejob.Record, bool, error) { return d.store.CancelJob(ctx, p) })
}

// Find implements [onejob.Store].
func (d *door) Find(ctx context.Context, p onejob.FindParams) (rec onejob.Record, err error) {
	p.Clock = d.clock
	err = d.look(func() (err error) { rec, err = d.store.Find(ctx, p); return err })
	return answer(rec, err)
}

// Tx implements [onejob.TxStore]. What fn did is committed where the cut comes,
// and rolled back where the database is down by then.
func (d *door) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	return d.pass(func() (wrote bool, err error) {
		err = d.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			return d.reach()
		})
		return true, err
	})
}

// CreateTx implements [onejob.TxStore]. The commit is what a cut waits for.
func (d *door) CreateTx(ctx context.Context, tx onejob.Tx, p onejob.CreateParams) (rec onejob.Record, err error) {
	p.Clock = d.clock
	err = d.look(func() (err error) { rec, err = d.store.CreateTx(ctx, tx, p); return err })
	return answer(rec, err)
}

// CompleteTx implements [onejob.TxStore], likewise.
func (d *door) CompleteTx(ctx context.Context, tx onejob.Tx, p onejob.CompleteParams) (rec onejob.Record, won bool, err error) {
	p.Clock = d.clock
	err = d.look(func() (err error) { rec, won, err = d.store.CompleteTx(ctx, tx, p); return err })
	rec, err = answer(rec, err)
	return rec, won && err == nil, err
}

// FindTx implements [onejob.TxStore].
func (d *door) FindTx(ctx context.Context, tx onejob.Tx, p onejob.FindParams) (rec onejob.Record, err error) {
	p.Clock = d.clock
	err = d.look(func() (err error) { rec, err = d.store.FindTx(ctx, tx, p); return err })
	return answer(rec, err)
}
