package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/bench/duel"
)

// stormSize is how many callers create one new key at once.
const stormSize = 64

// openStorms adds storms: each is one operation, and fails unless all its
// callers got one ID and exactly one of them stored it.
func (f *field) openStorms(_ context.Context, h *handPg) error {
	storm := func(create func(ctx context.Context, key string) (id string, created bool, err error)) op {
		return func(ctx context.Context, _ int) error {
			k := key()
			ids, made := make([]string, stormSize), make([]bool, stormSize)
			errs := make([]error, stormSize)
			gate := make(chan struct{})
			var all sync.WaitGroup
			for i := range stormSize {
				all.Go(func() {
					<-gate
					ids[i], made[i], errs[i] = create(ctx, k)
				})
			}
			close(gate)
			all.Wait()
			created := 0
			for i := range stormSize {
				if made[i] {
					created++
				}
				if errs[i] == nil && ids[i] != ids[0] {
					errs[i] = fmt.Errorf("a storm with two IDs")
				}
			}
			if created != 1 {
				errs = append(errs, fmt.Errorf("a storm in which %d callers stored the job", created))
			}
			return errors.Join(errs...)
		}
	}
	f.side("pg storm", duel.Side{Meter: f.pg.wal, Op: storm(func(ctx context.Context, k string) (string, bool, error) {
		job, created, err := f.pg.jobs.Create(ctx, onejob.Intent{Owner: "owner-1", Key: k, Kind: "charge", Params: params})
		return string(job.ID), created, err
	})})
	f.side("pg storm by hand", duel.Side{Meter: f.pg.wal, Op: storm(h.CreateOrFind)})
	return nil
}
