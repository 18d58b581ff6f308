package onejob

import (
	"context"
	"iter"
	"log/slog"
	"time"
)

// Filter selects attempts. Fields that are set must all match.
type Filter struct {
	// States are those asked for. Default: started, unknown and detached; for
	// Reconcile unknown. Overdue attempts count as unknown.
	States []State
	// Late asks for the attempts that hold evidence of a late result, whatever
	// their state, instead of States.
	Late bool
	// Owner, Kind and Provider match exactly.
	Owner, Kind, Provider string
	// Before asks for attempts that began before it, by the store's clock.
	Before time.Time
	// LateSince asks, beside Late, for evidence that came at this time or after
	// it, by the store's clock. With Late alone all of it is listed.
	LateSince time.Time
}

// Entry is an attempt with its job. The job comes without params and result,
// which may be large: see [Operator.Get].
type Entry struct {
	Job     Job
	Attempt Attempt
}

// LogValue shows IDs, states and sizes only.
func (e Entry) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("job", e.Job), slog.Any("attempt", e.Attempt))
}

// How many entries are read at a time, at first and at most. Each page sorts all
// that match anew, so with pages of one size a list of 20,000 doubts took a
// hundred sorts.
const (
	firstPage = 200
	lastPage  = 6400
)

// Attempts lists the attempts that match f, oldest first. It reads a page at a
// time and holds nothing open in between, so the loop's body may write. What
// changes meanwhile may be seen or not; nothing is listed twice. An error ends
// the list.
func (o *Operator) Attempts(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q, err := o.queries(ctx, "Operator.Attempts")
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if err := checkFilter(f); err != nil {
			yield(Entry{}, named("Operator.Attempts", err))
			return
		}
		if !f.Late && len(f.States) == 0 {
			f.States = []State{StateStarted, StateUnknown, StateDetached}
		}
		var after *Attempt
		for size := firstPage; ; size = min(2*size, lastPage) {
			page, err := q.Page(ctx, f, after, size, o.jobs.clock)
			if err != nil {
				yield(Entry{}, unavailable("Operator.Attempts", err))
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < size {
				return
			}
			after = &page[len(page)-1].Attempt
		}
	}
}
