package onejobtest

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

var _ onejob.WaitStore = (*door)(nil)

// Settled implements [onejob.WaitStore].
func (d *door) Settled(ctx context.Context, ids []onejob.JobID, _ func() time.Time) (settled []onejob.JobID, err error) {
	err = d.pass(func() (wrote bool, err error) {
		settled, err = d.store.Settled(ctx, ids, d.clock)
		return false, err
	})
	return answer(settled, err)
}
