package otelonejob_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/otelonejob"
)

// The host sets up OpenTelemetry as it likes, hands an Observer to its Jobs and
// has it watch. A real host exports to a collector; this one keeps all in memory.
func Example() {
	ctx := context.Background()
	spans, metrics := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)))

	store, err := onejob.OpenSQLite(ctx, ":memory:", nil)
	if err == nil {
		err = store.Migrate(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	observer, err := otelonejob.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	jobs := onejob.New(store, &onejob.Options{Observer: observer})
	stop, err := observer.Watch(onejob.NewOperator(jobs), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()

	// The provider's connection breaks: has it charged the card?
	job, err := jobs.Do(ctx,
		onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second},
		func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return nil, fmt.Errorf("EOF") })
	fmt.Println(job.Status(), err != nil)

	for _, s := range spans.GetSpans() {
		inJobs := s.SpanContext.TraceID().String() == strings.ReplaceAll(string(job.ID), "-", "")
		fmt.Println(s.Name, "in the job's own trace:", inJobs)
	}
	var collected metricdata.ResourceMetrics
	if err := metrics.Collect(ctx, &collected); err != nil {
		log.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if m.Name == "onejob.unknown.attempts" {
			p := m.Data.(metricdata.Gauge[int64]).DataPoints[0]
			fmt.Println(m.Name, p.Value, p.Attributes.Encoded(attribute.DefaultEncoder()))
		}
	}
	// Output:
	// unknown true
	// onejob.Start in the job's own trace: false
	// onejob.attempt in the job's own trace: true
	// onejob.Fail in the job's own trace: false
	// onejob.Do in the job's own trace: false
	// onejob.unknown.attempts 1 onejob.provider=acme-pay
}
