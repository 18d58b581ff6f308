package onejob

import (
	"context"
	"time"
)

// Sweep makes durable what every reader already sees: it turns started
// attempts past their deadline into unknown, at most limit of them, and
// returns those. It does nothing else, and no safety rests on it. Any number
// of processes may sweep at once.
func (o *Operator) Sweep(ctx context.Context, limit int) (swept []Attempt, err error) {
	const op = "Sweep"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	q, err := o.upkeep(ctx, op, limit)
	if err != nil {
		return nil, err
	}
	swept, err = q.Sweep(ctx, limit, o.jobs.clock)
	if err != nil {
		return nil, unavailable(op, err)
	}
	w.swept(swept)
	for i := range swept {
		o.jobs.mayEndWait(swept[i].JobID)
	}
	return swept, nil
}

// Retention says how long to keep what, counted from the end of a job. Zero
// keeps for ever.
type Retention struct {
	// Payloads is the age at which params, result, causes and external
	// references of a final job are dropped, and its attempts but the winner
	// and the detached ones, which are closed. The key stays: a very late retry
	// is answered with ErrKeyRetired, not with a second execution.
	Payloads time.Duration
	// Tombstones is the age at which a purged job is removed altogether. A
	// retry after that executes again. It must not be less than Payloads; jobs
	// that were never purged are not removed.
	Tombstones time.Duration
}

// Purge applies r to at most limit jobs and returns to how many it did; repeat
// it until that is less than limit. Nothing is ever purged otherwise.
//
// Open jobs are never touched. An open attempt holds its job back, also a
// final one's: the provider may have acted, and an operator ends that. A
// detached attempt of a final job is canceled with "purge" as its name.
func (o *Operator) Purge(ctx context.Context, r Retention, limit int) (n int, err error) {
	const op = "Purge"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	switch {
	case r.Payloads < 0:
		return 0, named(op, invalid("Retention.Payloads", "must not be negative"))
	case r.Tombstones < 0:
		return 0, named(op, invalid("Retention.Tombstones", "must not be negative"))
	case r.Tombstones > 0 && r.Tombstones < r.Payloads:
		return 0, named(op, invalid("Retention.Tombstones", "must not be less than Retention.Payloads"))
	}
	q, err := o.upkeep(ctx, op, limit)
	if err != nil {
		return 0, err
	}
	n, err = q.Purge(ctx, r, limit, o.jobs.clock)
	w.counted(n)
	if err != nil {
		return n, unavailable(op, err)
	}
	return n, nil
}

func (o *Operator) upkeep(ctx context.Context, op string, limit int) (OperatorStore, error) {
	if limit <= 0 {
		return nil, named(op, invalid("limit", "must be positive"))
	}
	return o.queries(ctx, op)
}

// Stats are counts for a dashboard.
type Stats struct {
	// Jobs by state. Purged ones are counted under their state too.
	Open, Completed, Canceled, Purged int64
	// Attempts that have not ended; overdue ones count as unknown.
	Started, Unknown, Detached int64
	// Late counts the attempts that hold evidence of a late result.
	Late int64
	// OldestUnknown is when the oldest unknown attempt began; zero if none is.
	OldestUnknown time.Time
}

// Stats counts jobs and attempts. It reads the whole table of jobs: ask by the
// minute, not by the request.
func (o *Operator) Stats(ctx context.Context) (stats Stats, err error) {
	const op = "Stats"
	ctx, w := o.jobs.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	q, err := o.queries(ctx, op)
	if err != nil {
		return Stats{}, err
	}
	stats, err = q.Stats(ctx, o.jobs.clock)
	if err != nil {
		return Stats{}, unavailable(op, err)
	}
	return stats, nil
}

// Finding is a setting that is not as it should be.
type Finding struct {
	Setting string // such as "synchronous_commit"
	Value   string // as found
	// Breaks says that with this setting an acknowledged job, attempt or result
	// can be lost or the library cannot work. Otherwise it costs speed, or only
	// calls for attention.
	Breaks bool
	Advice string
}

// Doctor inspects the database and the pools for settings on which the promise
// or the speed rests. No findings means that all is well, as far as can be seen:
// an idle limit of three or more that is too low shows only once the pool has
// closed connections for it.
func (o *Operator) Doctor(ctx context.Context) ([]Finding, error) {
	const op = "Doctor"
	q, err := o.queries(ctx, op)
	if err != nil {
		return nil, err
	}
	findings, err := q.Doctor(ctx)
	if err != nil {
		return nil, unavailable(op, err)
	}
	return findings, nil
}
