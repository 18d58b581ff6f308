package otelonejob_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/otelonejob"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDSN) != "" {
		child()
		return
	}
	dbtest.Main(m)
}

// world is a database that processes share.
type world struct {
	*testing.T
	driver, dsn string
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(&world{t, "postgres", dbtest.PostgresDSN(t)})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(&world{t, "sqlite", dbtest.SQLitePath(t)})
	})
}

// process is one of the programs that share the database, with what it exports.
type process struct {
	*testing.T
	jobs     *onejob.Jobs
	op       *onejob.Operator
	observer *otelonejob.Observer
	exporter *tracetest.InMemoryExporter
	tracer   trace.Tracer // the host's own
	reader   *sdkmetric.ManualReader
}

// openStore opens the database once more, as another process would.
func openStore(t testing.TB, driver, dsn string) onejob.Store {
	if driver == "sqlite" {
		return dbtest.OpenSQLite(t, dsn)
	}
	store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), nil)
	require.NoError(t, err)
	return store
}

func (w *world) process(opts ...func(*otelonejob.Options, *onejob.Options, *[]sdktrace.TracerProviderOption)) *process {
	w.Helper()
	return newProcess(w.T, openStore(w.T, w.driver, w.dsn), opts...)
}

func newProcess(t *testing.T, store onejob.Store, opts ...func(*otelonejob.Options, *onejob.Options, *[]sdktrace.TracerProviderOption)) *process {
	t.Helper()
	p := &process{T: t, exporter: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	var o otelonejob.Options
	var jobs onejob.Options
	tracing := []sdktrace.TracerProviderOption{sdktrace.WithSyncer(p.exporter)}
	for _, opt := range opts {
		opt(&o, &jobs, &tracing)
	}
	tp := sdktrace.NewTracerProvider(tracing...)
	o.TracerProvider, o.MeterProvider = tp, sdkmetric.NewMeterProvider(sdkmetric.WithReader(p.reader))
	p.tracer = tp.Tracer("host")
	var err error
	p.observer, err = otelonejob.New(&o)
	require.NoError(t, err)
	jobs.Observer = p.observer
	p.jobs = onejob.New(store, &jobs)
	p.op = onejob.NewOperator(p.jobs)
	return p
}

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "user-7", Key: key, Kind: "charge", Params: []byte(`{"amount":1200}`)}
}

func try(provider string) onejob.Try {
	return onejob.Try{Provider: provider, Timeout: 10 * time.Minute}
}

// start begins an attempt.
func (p *process) start(key, provider string) (onejob.Job, onejob.Attempt) {
	p.Helper()
	job, a, err := p.jobs.Start(p.Context(), intent(key), try(provider))
	require.NoError(p, err)
	return job, a
}

// spans are those with the name that were exported so far.
func (p *process) spans(name string) tracetest.SpanStubs {
	var found tracetest.SpanStubs
	for _, s := range p.exporter.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func (p *process) span(name string) tracetest.SpanStub {
	p.Helper()
	found := p.spans(name)
	require.Len(p, found, 1, name)
	return found[0]
}

// attrs are the attributes of a span as text.
func attrs(s tracetest.SpanStub) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// collect asks for all metrics, as an exporter does.
func (p *process) collect() metricdata.ResourceMetrics {
	p.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(p, p.reader.Collect(p.Context(), &rm))
	return rm
}

// points are the values of a metric, by their labels as text; a histogram's are
// its counts.
func (p *process) points(name string) map[string]float64 {
	p.Helper()
	return pointsOf(p.collect(), name)
}

func pointsOf(rm metricdata.ResourceMetrics, name string) map[string]float64 {
	values := map[string]float64{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, d := range data.DataPoints {
					values[labelText(d.Attributes)] += float64(d.Value)
				}
			case metricdata.Gauge[int64]:
				for _, d := range data.DataPoints {
					values[labelText(d.Attributes)] += float64(d.Value)
				}
			case metricdata.Gauge[float64]:
				for _, d := range data.DataPoints {
					values[labelText(d.Attributes)] += d.Value
				}
			case metricdata.Histogram[float64]:
				for _, d := range data.DataPoints {
					values[labelText(d.Attributes)] += float64(d.Count)
				}
			default:
				panic(fmt.Sprintf("%T", data))
			}
		}
	}
	return values
}

func labelText(set attribute.Set) string {
	return string(set.Encoded(attribute.DefaultEncoder()))
}

// nonzero drops the counters that have only begun.
func nonzero(points map[string]float64) map[string]float64 {
	for labels, value := range points {
		if value == 0 {
			delete(points, labels)
		}
	}
	return points
}

// backdate moves all that is stored into the past.
func (w *world) backdate(d time.Duration) {
	w.Helper()
	if w.driver == "sqlite" {
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(w.dsn)+"?_pragma=busy_timeout(10000)")
		require.NoError(w, err)
		defer db.Close()
		for _, statement := range []string{
			"UPDATE onejob_jobs SET created_at = created_at - ?",
			"UPDATE onejob_attempts SET started_at = started_at - ?1, deadline = deadline - ?1",
		} {
			_, err := db.Exec(statement, d.Microseconds())
			require.NoError(w, err)
		}
		return
	}
	db := dbtest.OpenPostgres(w, w.dsn)
	for _, statement := range []string{
		"UPDATE onejob.jobs SET created_at = created_at - $1 * interval '1 microsecond'",
		"UPDATE onejob.attempts SET started_at = started_at - $1 * interval '1 microsecond', deadline = deadline - $1 * interval '1 microsecond'",
	} {
		_, err := db.Exec(statement, d.Microseconds())
		require.NoError(w, err)
	}
}

var errLost = fmt.Errorf("the connection was reset: %w", context.DeadlineExceeded)
