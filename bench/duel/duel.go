// Package duel measures what several ways of doing the same thing take, side by
// side. A machine's speed changes from minute to minute by more than what is
// looked for, so no figure of one time is compared with one of another: in each
// round every side runs for a moment, in an order that turns, and what counts
// is the ratio inside the round.
package duel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Side is one way of doing it.
type Side struct {
	Name string
	// Op does it once. Worker is from 0 to Callers-1.
	Op func(ctx context.Context, worker int) error
	// Before makes what Op uses up, before the clock of a round runs; nil:
	// nothing.
	Before func(ctx context.Context) error
	// After waits until all that Op set going is done, before the clock stops;
	// nil: Op leaves nothing.
	After func(ctx context.Context) error
	// Meter reads something that grows as the side works, such as the bytes of
	// a log; nil: nothing.
	Meter func() (int64, error)
}

// Rules say how long it takes.
type Rules struct {
	Rounds  int
	Length  time.Duration // of one side in one round
	Ops     int           // that many of one side in one round, whatever the Length; 0: none is counted
	Callers int
}

// Result is what one side did.
type Result struct {
	Name             string
	PerSecond        Quartiles
	P50, P99         time.Duration
	Allocs, Bytes    float64 // of the Go heap, an operation
	Metered          float64 // an operation
	HasMeter         bool
	perSecond        []float64
	latencies        []time.Duration
	ops, size, count float64
	metered          float64
}

// Quartiles of what was measured in each round.
type Quartiles struct{ Low, Median, High float64 }

func (q Quartiles) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", q.Median, q.Low, q.High) }

func quartiles(list []float64) Quartiles {
	list = slices.Sorted(slices.Values(list))
	at := func(part float64) float64 {
		x := part * float64(len(list)-1)
		i := int(x)
		if i+1 >= len(list) {
			return list[len(list)-1]
		}
		return list[i] + (x-float64(i))*(list[i+1]-list[i])
	}
	return Quartiles{at(0.25), at(0.5), at(0.75)}
}

// ErrUsedUp is what Op returns when there is nothing left of what Before made:
// the round ends early.
var ErrUsedUp = errors.New("duel: used up")

// Run has the sides duel. The first round is for warming up and does not count.
func Run(ctx context.Context, rules Rules, sides ...Side) ([]*Result, error) {
	results := make([]*Result, len(sides))
	for i, s := range sides {
		results[i] = &Result{Name: s.Name, HasMeter: s.Meter != nil}
	}
	for round := range rules.Rounds + 1 {
		for turn := range sides {
			i := order(turn, round, len(sides))
			r := results[i]
			if round == 0 {
				r = &Result{}
			}
			if err := sides[i].run(ctx, rules, r); err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].Name, err)
			}
		}
	}
	for _, r := range results {
		r.conclude()
	}
	return results, nil
}

// order is whose turn it is: each is first, and last, as often as any other.
func order(turn, round, sides int) int {
	i := (turn + round/2) % sides
	if round%2 == 1 {
		i = sides - 1 - i
	}
	return i
}

// Ratio is a's speed in b's, round by round.
func Ratio(a, b *Result) Quartiles {
	list := make([]float64, len(a.perSecond))
	for i := range list {
		list[i] = a.perSecond[i] / b.perSecond[i]
	}
	return quartiles(list)
}

func (s Side) run(ctx context.Context, rules Rules, r *Result) error {
	var began int64
	var err error
	if s.Before != nil {
		if err = s.Before(ctx); err != nil {
			return err
		}
	}
	if s.Meter != nil {
		if began, err = s.Meter(); err != nil {
			return err
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	latencies := make([][]time.Duration, rules.Callers)
	errs := make([]error, rules.Callers)
	begin := time.Now()
	var all sync.WaitGroup
	var taken atomic.Int64
	more := func(at time.Time) bool {
		if rules.Ops > 0 {
			return taken.Add(1) <= int64(rules.Ops)
		}
		return at.Sub(begin) < rules.Length
	}
	for w := range rules.Callers {
		all.Go(func() {
			for at := time.Now(); more(at); {
				if errs[w] = s.Op(ctx, w); errs[w] != nil {
					return
				}
				now := time.Now()
				latencies[w] = append(latencies[w], now.Sub(at))
				at = now
			}
		})
	}
	all.Wait()
	if s.After != nil {
		if err := s.After(ctx); err != nil {
			return err
		}
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrUsedUp) {
			return err
		}
	}
	ops := 0
	for _, l := range latencies {
		ops += len(l)
		r.latencies = append(r.latencies, l...)
	}
	r.perSecond = append(r.perSecond, float64(ops)/took.Seconds())
	r.ops += float64(ops)
	r.count += float64(after.Mallocs - before.Mallocs)
	r.size += float64(after.TotalAlloc - before.TotalAlloc)
	if s.Meter != nil {
		ended, err := s.Meter()
		if err != nil {
			return err
		}
		r.metered += float64(ended - began)
	}
	return nil
}

func (r *Result) conclude() {
	r.PerSecond = quartiles(r.perSecond)
	slices.Sort(r.latencies)
	if n := len(r.latencies); n > 0 {
		r.P50, r.P99 = r.latencies[n/2], r.latencies[n*99/100]
	}
	r.Allocs, r.Bytes, r.Metered = r.count/r.ops, r.size/r.ops, r.metered/r.ops
}
