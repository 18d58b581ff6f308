package storetest

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/onejob-go/onejob"
)

// resending is a store whose every write is applied, and then sent again by
// the driver, which reports the second time's outcome.
type resending struct{ onejob.Store }

func (s *resending) Create(ctx context.Context, p onejob.CreateParams) (onejob.Record, error) {
	_, _ = s.Store.Create(ctx, p)
	return s.Store.Create(ctx, p)
}

func (s *resending) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Start(ctx, p, try)
	return s.Store.Start(ctx, p, try)
}

func (s *resending) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Begin(ctx, p)
	return s.Store.Begin(ctx, p)
}

func (s *resending) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Complete(ctx, p)
	return s.Store.Complete(ctx, p)
}

func (s *resending) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Settle(ctx, p)
	return s.Store.Settle(ctx, p)
}

func (s *resending) Amend(ctx context.Context, p onejob.AmendParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Amend(ctx, p)
	return s.Store.Amend(ctx, p)
}

func (s *resending) CancelJob(ctx context.Context, p onejob.CancelParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.CancelJob(ctx, p)
	return s.Store.CancelJob(ctx, p)
}

// losing is a store that applies every write and loses its answer: of a step
// that is repeated the first, of one that is looked up each, and where it is
// silent all, of reads too.
type losing struct {
	onejob.Store
	silent bool
	writes atomic.Int64
}

func (s *losing) answer(rec onejob.Record, applied bool, err error) (onejob.Record, bool, error) {
	if s.silent || s.writes.Add(1)%2 == 1 {
		return onejob.Record{}, false, io.ErrUnexpectedEOF
	}
	return rec, applied, err
}

func (s *losing) Create(ctx context.Context, p onejob.CreateParams) (onejob.Record, error) {
	_, _ = s.Store.Create(ctx, p)
	return onejob.Record{}, io.ErrUnexpectedEOF
}

func (s *losing) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Start(ctx, p, try)
	return onejob.Record{}, false, io.ErrUnexpectedEOF
}

func (s *losing) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Begin(ctx, p)
	return onejob.Record{}, false, io.ErrUnexpectedEOF
}

func (s *losing) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	return s.answer(s.Store.Complete(ctx, p))
}

func (s *losing) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	return s.answer(s.Store.Settle(ctx, p))
}

func (s *losing) Amend(ctx context.Context, p onejob.AmendParams) (onejob.Record, bool, error) {
	return s.answer(s.Store.Amend(ctx, p))
}

func (s *losing) CancelJob(ctx context.Context, p onejob.CancelParams) (onejob.Record, bool, error) {
	return s.answer(s.Store.CancelJob(ctx, p))
}

func (s *losing) Find(ctx context.Context, p onejob.FindParams) (onejob.Record, error) {
	if s.silent {
		return onejob.Record{}, io.ErrUnexpectedEOF
	}
	return s.Store.Find(ctx, p)
}
