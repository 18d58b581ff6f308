package onejob

import (
	"bytes"
	"context"
	"slices"
)

// CreateMany implements [BatchStore]. Keys that exist are found by a reader.
func (s *SQLiteStore) CreateMany(ctx context.Context, params []CreateParams) ([]Record, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	recs := make([]Record, len(params))
	var fresh []int
	size := 0
	for i, p := range params {
		known := false
		if s.reader != s.writer {
			var err error
			if known, err = p.keyExists(ctx, &s.reads); err == nil && known {
				recs[i], err = s.Find(ctx, keyOf(p.Intent, p.Clock))
			}
			if err != nil {
				return nil, s.explained(ctx, err)
			}
		}
		if !known {
			fresh = append(fresh, i)
			size += len(p.Intent.Params) + 4<<10 // each takes its time
		}
	}
	if len(fresh) == 0 {
		return recs, nil
	}
	keep := func() {
		params = slices.Clone(params)
		for i := range params {
			params[i].Intent.Params = bytes.Clone(params[i].Intent.Params)
		}
	}
	_, _, err := s.write(ctx, write{size: size, keep: keep, run: func(ctx context.Context, q *ownRunner) (Record, bool, error) {
		for _, i := range fresh {
			rec, err := s.create(ctx, q, params[i])
			if err == nil && rec.Job.ID == "" {
				rec, err = s.find(ctx, q, keyOf(params[i].Intent, params[i].Clock))
			}
			if err != nil {
				return Record{}, false, err
			}
			recs[i] = rec
		}
		return Record{}, true, nil
	}})
	if err != nil {
		return nil, err
	}
	return recs, nil
}
