package otelonejob_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/otelonejob"
)

// The test's binary is also the process that dies: these name its database.
const (
	childDSN    = "OTELONEJOB_CHILD_DSN"
	childDriver = "OTELONEJOB_CHILD_DRIVER"
)

// report is what the process that dies says before it does.
type report struct {
	Job    onejob.JobID
	Traces []string // of its attempts' spans
}

// child makes two attempts: one fails, and it dies in the other.
func child() {
	if err := dieInAnAttempt(os.Getenv(childDriver), os.Getenv(childDSN)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func dieInAnAttempt(driver, dsn string) error {
	ctx := context.Background()
	store, err := childStore(ctx, driver, dsn)
	if err != nil {
		return err
	}
	exporter := tracetest.NewInMemoryExporter()
	observer, err := otelonejob.New(&otelonejob.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))})
	if err != nil {
		return err
	}
	jobs := onejob.New(store, &onejob.Options{Observer: observer})
	job, a, err := jobs.Start(ctx, intent("k"), try("inkjet"))
	if err != nil {
		return err
	}
	if _, err = jobs.Fail(ctx, a, onejob.NoEffect(errors.New("paper jam"))); err != nil {
		return err
	}
	if _, err = jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "laser", Timeout: time.Millisecond}); err != nil {
		return err
	}
	r := report{Job: job.ID}
	for _, s := range exporter.GetSpans() {
		if s.Name == "onejob.attempt" {
			r.Traces = append(r.Traces, s.SpanContext.TraceID().String())
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func childStore(ctx context.Context, driver, dsn string) (onejob.Store, error) {
	if driver == "sqlite" {
		return onejob.OpenSQLite(ctx, dsn, nil)
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	return onejob.NewPostgresStore(db, nil)
}

func TestAttemptsOfAProcessThatDiedAreInTheSameTrace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		cmd := exec.CommandContext(w.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childDSN+"="+w.dsn, childDriver+"="+w.driver)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(w, err)
		var r report
		require.NoError(w, json.Unmarshal(out, &r))
		trace := strings.ReplaceAll(string(r.Job), "-", "")
		require.Equal(w, []string{trace}, r.Traces, "the first attempt, from the process that died")

		p := w.process()
		require.Eventually(w, func() bool { // the deadline passes
			swept, err := p.op.Sweep(w.Context(), 10)
			require.NoError(w, err)
			return len(swept) == 1
		}, time.Minute, time.Millisecond)
		second := p.span("onejob.attempt")
		require.Equal(w, trace, second.SpanContext.TraceID().String())
		require.Equal(w, "unknown", attrs(second)["onejob.state"])
		require.Equal(w, "2", attrs(second)["onejob.attempt.number"])
		require.Equal(w, time.Millisecond, second.EndTime.Sub(second.StartTime), "to the deadline, for then the doubt began")
		require.Equal(w, map[string]float64{"": 1}, p.points("onejob.attempts.swept"))
		require.Equal(w, map[string]float64{"onejob.provider=laser,onejob.state=unknown": 1}, nonzero(p.points("onejob.attempt.changes")))
	})
}
