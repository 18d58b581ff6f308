// Package otelonejob tells OpenTelemetry what onejob does: spans for its
// operations in the caller's trace, spans for attempts in a trace of the job's
// own, and metrics.
//
// It needs the API of OpenTelemetry alone; which SDK and which exporter is the
// host's choice:
//
//	observer, err := otelonejob.New(nil) // the global providers
//	jobs := onejob.New(store, &onejob.Options{Observer: observer})
//	stop, err := observer.Watch(onejob.NewOperator(jobs), nil) // counts doubts
//
// docs/telemetry.md has the tables of spans and metrics; dashboard and alerts
// have a Grafana dashboard and Prometheus rules for them.
//
// Not one key, owner, parameter, byte of a result, cause of a failure, or name
// or reason of an operator is exported. Metrics hold no IDs either.
package otelonejob

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/onejob-go/onejob"
)

// scope names the instrumentation.
const scope = "github.com/onejob-go/onejob/otelonejob"

// Options are the settings of [New]. The zero value of each field means its
// default.
type Options struct {
	// TracerProvider makes the spans. Default: otel.GetTracerProvider.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Default: otel.GetMeterProvider.
	MeterProvider metric.MeterProvider
	// Sample tells whether a span is made of an attempt that has ended or become
	// unknown. Default: of every one, whatever was decided for the caller's trace;
	// that is one span for a call of a provider, two where it was in doubt. See
	// [SampleRatio] and [SampleWithCaller]. The provider's sampler has the last
	// word: it sees a remote parent that is sampled, which one of ParentBased, the
	// SDK's default, follows. Spans of operations are that sampler's alone.
	Sample Sample
	// MaxProviders is how many providers metrics tell apart: of the names that
	// this process meets later, each counts as "other". Default: 50. Negative:
	// metrics have no providers.
	MaxProviders int
	// MaxKinds is the same for the kinds of jobs.
	MaxKinds int
	// Attributes come with every span and every measurement. Where one process
	// has jobs in two databases, let them name the database, for otherwise the
	// gauges of both are one.
	Attributes []attribute.KeyValue
}

// Observer tells OpenTelemetry of the operations of a [onejob.Jobs] and of what
// is made of it. It is safe for use by many goroutines.
type Observer struct {
	tracer  trace.Tracer
	meter   metric.Meter
	inst    *instruments
	sample  Sample
	base    []attribute.KeyValue
	series  *series
	told    *recent
	watched chan struct{} // holds one token once there is a watch
}

var _ onejob.Observer = (*Observer)(nil)

// New returns an Observer for onejob.Options.Observer. Nil options mean the
// defaults. The error is of the meter provider, which could not make an
// instrument.
func New(opts *Options) (*Observer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Sample == nil {
		o.Sample = always
	}
	meter := o.MeterProvider.Meter(scope)
	inst, err := newInstruments(meter)
	if err != nil {
		return nil, err
	}
	return &Observer{
		tracer:  o.TracerProvider.Tracer(scope),
		meter:   meter,
		inst:    inst,
		sample:  o.Sample,
		base:    o.Attributes,
		series:  newSeries(o),
		told:    newRecent(4096),
		watched: make(chan struct{}, 1),
	}, nil
}
