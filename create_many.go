package onejob

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// maxMany is how many intents CreateMany takes.
const maxMany = 1000

// Created is what became of one intent of [Jobs.CreateMany]: what Create would
// have returned for it.
type Created struct {
	// Job is the one that holds the key. It is empty beside ErrInvalid and
	// ErrKeyConflict; the latter's job is Error.Job.
	Job Job
	// Created reports whether this call stored the job.
	Created bool
	// Err is an [*Error], for errors.Is: ErrInvalid, ErrKeyConflict or
	// ErrKeyRetired.
	Err error
}

// CreateMany is Create for up to 1,000 intents, whose params are 16 MiB together
// at most, in one commit. On PostgreSQL one statement stores them, and if there
// are keys that exist another reads their jobs. What becomes of each, at the same
// place as the intent, is what Create would have told of it; an intent that is
// refused does not keep the others. Of two intents with one key the first is
// stored. A store without [BatchStore] stores them one by one.
//
// The error is ErrInvalid for too many intents, too many bytes, or a context
// within [Jobs.Tx], ErrUnsupported where the tables were not migrated, or
// ErrUnavailable: then repeat the call, and the jobs that were stored after all
// are found.
func (s *Jobs) CreateMany(ctx context.Context, in []Intent) (list []Created, err error) {
	const op = "CreateMany"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	if len(in) > maxMany {
		return nil, named(op, invalid("in", fmt.Sprintf("must hold at most %d intents: split it", maxMany)))
	}
	if err := s.mayWrite(ctx, op); err != nil {
		return nil, err
	}
	list = make([]Created, len(in))
	var wanted []manyParams
	minted := make(map[JobID]bool, len(in))
	size := 0
	for i := range in {
		p, err := s.createParams(in[i])
		if err != nil {
			list[i].Err = named(op, err)
			continue
		}
		if minted[p.ID] {
			return nil, named(op, invalid("Options.NewID", "returned one ID twice"))
		}
		minted[p.ID] = true
		wanted = append(wanted, manyParams{p, i})
		size += len(p.Intent.Params)
	}
	if size > maxPayload {
		return nil, named(op, invalid("in", fmt.Sprintf("must hold at most %d bytes of params together: split it", maxPayload)))
	}
	// Whoever stores the same keys meets them in the same order: two callers
	// cannot wait for each other.
	slices.SortStableFunc(wanted, func(a, b manyParams) int {
		return cmp.Or(cmp.Compare(a.Intent.Owner, b.Intent.Owner), cmp.Compare(a.Intent.Key, b.Intent.Key))
	})
	for range rounds {
		if len(wanted) == 0 {
			return list, nil
		}
		recs, err := s.createAll(ctx, op, wanted)
		if lost(err) && ctx.Err() == nil {
			recs, err = s.createAll(ctx, op, wanted) // what was stored after all is found
		}
		if err != nil {
			return nil, err
		}
		// The holder of a key may be gone when it is looked for: again.
		unseen := wanted[:0]
		for n, want := range wanted {
			if recs[n].Job.ID == "" {
				unseen = append(unseen, want)
				continue
			}
			c := &list[want.at]
			c.Job, c.Created, c.Err = createdJob(op, recs[n], want.CreateParams, in[want.at])
			if c.Created {
				w.counted(1)
			}
		}
		wanted = unseen
	}
	if len(wanted) > 0 {
		return nil, unavailable(op, errUndecided)
	}
	return list, nil
}

type manyParams struct {
	CreateParams
	at int // its place in what the caller gave
}

// createAll asks the store for all at once, or one by one where it cannot.
func (s *Jobs) createAll(ctx context.Context, op string, wanted []manyParams) (recs []Record, err error) {
	defer func() {
		if err != nil {
			err = unavailable(op, err)
		}
	}()
	if many, ok := s.store.(BatchStore); ok {
		params := make([]CreateParams, len(wanted))
		for i, w := range wanted {
			params[i] = w.CreateParams
		}
		return many.CreateMany(ctx, params)
	}
	recs = make([]Record, len(wanted))
	for i, w := range wanted {
		if recs[i], err = s.createOn(ctx, s.store, w.CreateParams); err != nil {
			return nil, err
		}
	}
	return recs, nil
}
