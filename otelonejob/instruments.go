package otelonejob

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics that operations fill. docs/telemetry.md has the
// table; the names are what hosts build on, so they stay.
type instruments struct {
	requests   metric.Int64Counter
	jobsEnded  metric.Int64Counter
	changes    metric.Int64Counter
	duration   metric.Float64Histogram
	refusals   metric.Int64Counter
	late       metric.Int64Counter
	operations metric.Float64Histogram
	purged     metric.Int64Counter
	swept      metric.Int64Counter
	lookups    metric.Int64Counter
}

// Attempts take from milliseconds to as long as a doubt stands; operations are
// one to a few round trips, or waits.
var (
	attemptBounds = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 14400, 86400}
	opBounds      = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
)

func newInstruments(meter metric.Meter) (*instruments, error) {
	var in instruments
	var errs []error
	counter := func(to *metric.Int64Counter, name, unit, text string) {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		*to, errs = c, append(errs, err)
	}
	histogram := func(to *metric.Float64Histogram, name, text string, bounds []float64) {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
			metric.WithExplicitBucketBoundaries(bounds...))
		*to, errs = h, append(errs, err)
	}
	counter(&in.requests, "onejob.job.requests", "{request}", "Intents that were handed in, by what became of them.")
	counter(&in.jobsEnded, "onejob.jobs.ended", "{job}", "Jobs that became final.")
	counter(&in.changes, "onejob.attempt.changes", "{change}", "Attempts that came into a state.")
	histogram(&in.duration, "onejob.attempt.duration", "From the beginning of an attempt to its end or to the doubt.", attemptBounds)
	counter(&in.refusals, "onejob.refusals", "{refusal}", "Operations that were refused, which is the library at work.")
	counter(&in.late, "onejob.late_results", "{result}", "Results that came too late and were thrown away: each may mean a refund.")
	histogram(&in.operations, "onejob.operation.duration", "How long operations take.", opBounds)
	counter(&in.purged, "onejob.jobs.purged", "{job}", "Jobs whose payloads or rows were removed.")
	counter(&in.swept, "onejob.attempts.swept", "{attempt}", "Attempts past their deadline that a sweep made unknown.")
	counter(&in.lookups, "onejob.unknown.lookups", "{lookup}", "Look-ups of the doubts that stand, by whether the database answered.")
	return &in, errors.Join(errs...)
}
