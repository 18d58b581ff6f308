package onejob

import (
	"context"
	"time"
)

// The limits of a turn, in bytes.
const (
	maxTurn   = 63
	maxHolder = 128
)

// TakeTurn asks for the turn with that name, for d from now, and reports whether
// the holder has it. Nobody else gets it until then; the holder may take it
// again, for longer or for less, and ends it early with a d of a microsecond. A
// holder is one process, or one part of it: the name must be nobody else's.
//
// A turn keeps processes from doing the same work at once, and that is all. It
// ends with time, whatever became of its holder, so a process that was paused
// may still be at work when the next one begins: what is done in turns must be
// safe to do twice at once. Times are the store's; a turn that was taken in the
// future, by a clock that was set back since, counts as over.
//
// ErrUnsupported if the store cannot give turns, which is seen before anything is
// sent.
func (o *Operator) TakeTurn(ctx context.Context, name, holder string, d time.Duration) (bool, error) {
	const op = "TakeTurn"
	err := checkText("name", name, 1, maxTurn)
	if err == nil {
		err = checkText("holder", holder, 1, maxHolder)
	}
	if err == nil && d <= 0 {
		err = invalid("d", "must be positive")
	}
	if err != nil {
		return false, named(op, err)
	}
	store, ok := o.jobs.store.(TurnStore)
	if !ok {
		return false, &Error{Op: op, Err: ErrUnsupported}
	}
	if err := o.jobs.outsideTx(ctx, op); err != nil {
		return false, err
	}
	taken, err := store.TakeTurn(ctx, name, holder, wholeMicros(d), o.jobs.clock)
	if err != nil {
		return false, unavailable(op, err)
	}
	return taken, nil
}
