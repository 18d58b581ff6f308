package onejobtest

import (
	"context"
	"slices"

	"github.com/onejob-go/onejob"
)

var _ onejob.BatchStore = (*door)(nil)

// CreateMany implements [onejob.BatchStore].
func (d *door) CreateMany(ctx context.Context, params []onejob.CreateParams) (recs []onejob.Record, err error) {
	params = slices.Clone(params)
	for i := range params {
		params[i].Clock = d.clock
	}
	err = d.pass(func() (wrote bool, err error) {
		recs, err = d.store.CreateMany(ctx, params)
		for i := range recs {
			wrote = wrote || recs[i].Job.ID == params[i].ID
		}
		return wrote, err
	})
	return answer(recs, err)
}
