package onejobtest

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

// Page implements [onejob.OperatorStore].
func (d *door) Page(ctx context.Context, f onejob.Filter, after *onejob.Attempt, limit int, _ func() time.Time) (page []onejob.Entry, err error) {
	err = d.look(func() (err error) { page, err = d.store.Page(ctx, f, after, limit, d.clock); return err })
	return answer(page, err)
}

// Sweep implements [onejob.OperatorStore].
func (d *door) Sweep(ctx context.Context, limit int, _ func() time.Time) (swept []onejob.Attempt, err error) {
	err = d.pass(func() (wrote bool, err error) {
		swept, err = d.store.Sweep(ctx, limit, d.clock)
		return len(swept) > 0, err
	})
	return answer(swept, err)
}

// Purge implements [onejob.OperatorStore].
func (d *door) Purge(ctx context.Context, r onejob.Retention, limit int, _ func() time.Time) (n int, err error) {
	err = d.pass(func() (wrote bool, err error) {
		n, err = d.store.Purge(ctx, r, limit, d.clock)
		return n > 0, err
	})
	return answer(n, err)
}

// Stats implements [onejob.OperatorStore].
func (d *door) Stats(ctx context.Context, _ func() time.Time) (stats onejob.Stats, err error) {
	err = d.look(func() (err error) { stats, err = d.store.Stats(ctx, d.clock); return err })
	return answer(stats, err)
}

// Doctor implements [onejob.OperatorStore].
func (d *door) Doctor(ctx context.Context) (list []onejob.Finding, err error) {
	err = d.look(func() (err error) { list, err = d.store.Doctor(ctx); return err })
	return answer(list, err)
}
