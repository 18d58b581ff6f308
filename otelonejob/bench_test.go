package otelonejob_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/otelonejob"
)

// discard is an exporter that costs nothing, so that what is measured is the
// making of the spans.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// observers are what a host may have set.
func observers(tb testing.TB) []struct {
	name     string
	observer onejob.Observer
} {
	made := func(tp trace.TracerProvider, mp metric.MeterProvider) onejob.Observer {
		o, err := otelonejob.New(&otelonejob.Options{TracerProvider: tp, MeterProvider: mp})
		require.NoError(tb, err)
		return o
	}
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	never := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}), sdktrace.WithSampler(sdktrace.NeverSample()))
	always := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{}))
	return []struct {
		name     string
		observer onejob.Observer
	}{
		{"none", nil},
		{"no SDK", made(tracenoop.NewTracerProvider(), metricnoop.NewMeterProvider())},
		{"metrics", made(tracenoop.NewTracerProvider(), metrics)},
		{"metrics, unsampled traces", made(never, metrics)},
		{"metrics and traces", made(always, metrics)},
	}
}

// What an operation costs that does nothing itself.
func BenchmarkObserve(b *testing.B) {
	created := onejob.Observation{Created: true, Job: onejob.Job{
		ID: "0190b2c0-1111-7222-8333-444444444444", Intent: intent("k"), State: onejob.JobOpen,
	}}
	for _, c := range observers(b) {
		if c.observer == nil {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, end := c.observer.Observe(b.Context(), "Create")
				end(created)
			}
		})
	}
}

func inMemory(b *testing.B) onejob.Store {
	store := dbtest.OpenSQLite(b, ":memory:")
	require.NoError(b, store.Migrate(b.Context()))
	return store
}

// What a Create costs with it and without it, on SQLite in memory.
func BenchmarkCreate(b *testing.B) {
	for _, c := range observers(b) {
		b.Run(c.name, func(b *testing.B) {
			jobs := onejob.New(inMemory(b), &onejob.Options{Observer: c.observer})
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				if _, _, err := jobs.Create(b.Context(), intent(strconv.Itoa(n))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
