package otelonejob

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/onejob-go/onejob"
)

// WatchOptions are the settings of [Observer.Watch]. The zero value of each
// field means its default.
type WatchOptions struct {
	// Interval is how often the database is asked at most. Default: a minute.
	Interval time.Duration
	// Timeout is how long it has for its answer. Default: ten seconds.
	Timeout time.Duration
	// Wait is how long a collection of metrics waits for that answer. What comes
	// later is for the next collection. Default: one second.
	Wait time.Duration
	// Limit is how many doubts are read, the oldest. Where there are more, the
	// number of them is at least what is reported. Default: 10,000.
	Limit int
}

// Watch reports the attempts that are unknown and the age of the oldest, by
// provider. It asks the database when metrics are collected, no more often than
// WatchOptions.Interval, on a goroutine of its own: a database that does not
// answer holds a collection up for WatchOptions.Wait, once an interval. Where
// there is no answer nothing is reported, and not zero; onejob.unknown.lookups
// counts how often that was. An answer counts for two intervals.
//
// Every process that watches reports the same doubts: take the maximum over
// processes, never the sum.
//
// stop ends it, and may be called twice. A second Watch of one Observer is an
// error.
func (o *Observer) Watch(operator *onejob.Operator, opts *WatchOptions) (stop func(), err error) {
	if operator == nil {
		return nil, errors.New("otelonejob: Watch needs an operator: onejob.NewOperator makes one")
	}
	select {
	case o.watched <- struct{}{}:
	default:
		return nil, errors.New("otelonejob: this Observer is watching already: stop that first")
	}
	w := newWatch(o, operator, opts)
	registration, err := w.register(o.meter)
	if err != nil {
		<-o.watched
		return nil, err
	}
	// A counter that is born with its first event shows no increase.
	ctx := context.Background()
	o.inst.lookups.Add(ctx, 0, o.series.of(labels{outcome: outcomeOK}).add...)
	o.inst.lookups.Add(ctx, 0, o.series.of(labels{outcome: outcomeError}).add...)
	var once sync.Once
	return func() {
		once.Do(func() {
			_ = registration.Unregister() // always nil by the SDK
			w.cancel()
			<-o.watched
		})
	}, nil
}

func (w *watch) register(meter metric.Meter) (metric.Registration, error) {
	count, err := meter.Int64ObservableGauge("onejob.unknown.attempts", metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts that may or may not have taken effect. Each process reports the same: take the maximum."))
	if err != nil {
		return nil, err
	}
	age, err := meter.Float64ObservableGauge("onejob.unknown.oldest_age", metric.WithUnit("s"),
		metric.WithDescription("Since when the oldest of them has been under way. Each process reports the same: take the maximum."))
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		doubts, ok := w.doubts(ctx)
		if !ok {
			return nil
		}
		now := w.now()
		for provider, d := range doubts {
			with := w.o.series.of(labels{provider: provider}).observe
			to.ObserveInt64(count, d.count, with)
			seconds := 0.0
			if d.count > 0 {
				seconds = max(0, now.Sub(d.oldest).Seconds())
			}
			to.ObserveFloat64(age, seconds, with)
		}
		return nil
	}, count, age)
}
