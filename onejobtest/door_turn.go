package onejobtest

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

var _ onejob.TurnStore = (*door)(nil)

// TakeTurn implements [onejob.TurnStore].
func (d *door) TakeTurn(ctx context.Context, name, holder string, length time.Duration, _ func() time.Time) (taken bool, err error) {
	err = d.pass(func() (wrote bool, err error) {
		taken, err = d.store.TakeTurn(ctx, name, holder, length, d.clock)
		return taken, err
	})
	return answer(taken, err)
}
