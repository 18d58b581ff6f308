package otelonejob_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/otelonejob"
)

func TestOperationsAreInTheCallersTraceAndAttemptsInTheJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		ctx, caller := p.tracer.Start(w.Context(), "click")
		var inCall trace.SpanContext
		job, err := p.jobs.Do(ctx, intent("k"), try("acme-pay"),
			func(ctx context.Context, _ onejob.Job, _ onejob.Attempt) ([]byte, error) {
				inCall = trace.SpanContextFromContext(ctx)
				return []byte(`{"charge":"ch_1"}`), nil
			})
		require.NoError(w, err)
		caller.End()

		do, start, complete := p.span("onejob.Do"), p.span("onejob.Start"), p.span("onejob.Complete")
		require.Equal(w, caller.SpanContext().SpanID(), do.Parent.SpanID())
		require.Equal(w, do.SpanContext.SpanID(), start.Parent.SpanID())
		require.Equal(w, do.SpanContext.SpanID(), complete.Parent.SpanID())
		require.Equal(w, do.SpanContext, inCall, "what the call traces is a part of Do")
		inJob := otelonejob.JobSpanContext(job.ID)
		for _, s := range []string{"onejob.Do", "onejob.Start", "onejob.Complete"} {
			span := p.span(s)
			require.Equal(w, caller.SpanContext().TraceID(), span.SpanContext.TraceID())
			require.Len(w, span.Links, 1)
			require.Equal(w, inJob.TraceID(), span.Links[0].SpanContext.TraceID())
			require.Equal(w, codes.Unset, span.Status.Code)
			got := attrs(span)
			require.Equal(w, string(job.ID), got["onejob.job.id"])
			require.Equal(w, "charge", got["onejob.kind"])
			require.Equal(w, "ok", got["onejob.outcome"])
			if s != "onejob.Do" {
				require.Equal(w, "acme-pay", got["onejob.provider"])
				require.Equal(w, string(job.Attempt.ID), got["onejob.attempt.id"])
				require.Equal(w, "1", got["onejob.attempt.number"])
				require.Equal(w, "true", got["onejob.changed"])
			}
		}
		require.Equal(w, "running", attrs(start)["onejob.job.status"])
		require.Equal(w, "completed", attrs(complete)["onejob.job.status"])

		attempt := p.span("onejob.attempt")
		require.Equal(w, strings.ReplaceAll(string(job.ID), "-", ""), attempt.SpanContext.TraceID().String())
		require.Equal(w, inJob.SpanID(), attempt.Parent.SpanID())
		require.True(w, attempt.Parent.IsRemote())
		require.Len(w, attempt.Links, 1)
		require.Equal(w, complete.SpanContext.SpanID(), attempt.Links[0].SpanContext.SpanID())
		require.True(w, attempt.StartTime.Equal(job.Attempt.StartedAt), "by the store's clock")
		require.True(w, attempt.EndTime.Equal(job.Attempt.EndedAt))
		require.Equal(w, "succeeded", attrs(attempt)["onejob.state"])
		require.Equal(w, "charge", attrs(attempt)["onejob.kind"])
		require.Equal(w, codes.Unset, attempt.Status.Code)
	})
}

func TestARefusalIsNoErrorOfItsSpan(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		p.start("k", "acme-pay")
		other := intent("k")
		other.Params = []byte(`{"amount":9}`)
		_, _, err := p.jobs.Create(w.Context(), other)
		require.ErrorIs(w, err, onejob.ErrKeyConflict)
		span := p.span("onejob.Create")
		require.Equal(w, codes.Unset, span.Status.Code)
		require.Equal(w, "refused", attrs(span)["onejob.outcome"])
		require.Equal(w, "key_conflict", attrs(span)["error.type"])
		require.Empty(w, span.Events, "an error's text may hold what a database quotes")
	})
}

func TestADatabaseThatIsGoneIsAnErrorOfTheSpan(t *testing.T) {
	t.Parallel()
	store, err := onejob.OpenSQLite(t.Context(), t.TempDir()+"/onejob.db", nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	p := newProcess(t, store)
	require.NoError(t, store.Close())
	_, _, err = p.jobs.Create(t.Context(), intent("k"))
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	span := p.span("onejob.Create")
	require.Equal(t, codes.Error, span.Status.Code)
	require.Equal(t, "unavailable", span.Status.Description)
	require.Equal(t, map[string]float64{"error.type=unavailable,onejob.op=Create,onejob.outcome=error": 1},
		p.points("onejob.operation.duration"))

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.jobs.GetByKey(gone, "user-7", "k")
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.Equal(t, codes.Unset, p.span("onejob.GetByKey").Status.Code, "the client hung up")
	require.Equal(t, "canceled", attrs(p.span("onejob.GetByKey"))["onejob.outcome"])
}

// Completing goes on when its caller leaves: that is not why nothing was stored.
func TestAResultThatIsNotStoredIsAnErrorAlsoWhereTheClientHasLeft(t *testing.T) {
	t.Parallel()
	store, err := onejob.OpenSQLite(t.Context(), t.TempDir()+"/onejob.db", nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	p := newProcess(t, store)
	_, a := p.start("k", "inkjet")
	require.NoError(t, store.Close())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.jobs.Complete(gone, a, []byte("1"))
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	require.Equal(t, "error", attrs(p.span("onejob.Complete"))["onejob.outcome"])
	require.Equal(t, "unavailable", attrs(p.span("onejob.Complete"))["error.type"])
}

func TestAHostThatFailsIsAnErrorOfTheSpan(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process(func(_ *otelonejob.Options, o *onejob.Options, _ *[]sdktrace.TracerProviderOption) {
			o.OnComplete = refuseAll
		})
		_, a := p.start("k", "acme-pay")
		_, err := p.jobs.Complete(w.Context(), a, nil)
		require.ErrorIs(w, err, errLedger)
		require.Equal(w, "on_complete", p.span("onejob.Complete").Status.Description)
		require.Empty(w, p.spans("onejob.attempt"), "it stands as it was")

		require.Panics(w, func() {
			_, _ = p.jobs.Do(w.Context(), intent("other"), try("acme-pay"),
				func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { panic("boom") })
		})
		require.Equal(w, codes.Error, p.span("onejob.Do").Status.Code)
		require.Equal(w, "unknown", attrs(p.span("onejob.attempt"))["onejob.state"])
	})
}

func TestADoubtAndItsEndAreASpanEach(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		_, a := p.start("k", "acme-pay")
		_, err := p.jobs.Fail(w.Context(), a, errLost)
		require.NoError(w, err)
		_, err = p.jobs.MarkUnknown(w.Context(), a, errLost)
		require.NoError(w, err)
		_, err = p.op.Reconcile(w.Context(), onejob.Filter{}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return nil, errors.New("cannot say")
		})
		require.NoError(w, err)
		elsewhere := w.process()
		_, err = elsewhere.op.Reconcile(w.Context(), onejob.Filter{}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return nil, errors.New("cannot say")
		})
		require.NoError(w, err)
		require.Len(w, elsewhere.spans("onejob.MarkUnknown"), 1)
		require.Empty(w, elsewhere.spans("onejob.attempt"), "a doubt that stays is no new one")
		doubt := p.span("onejob.attempt")
		require.Equal(w, codes.Error, doubt.Status.Code)
		require.Equal(w, "unknown", attrs(doubt)["onejob.state"])
		require.False(w, doubt.EndTime.Before(doubt.StartTime))

		_, err = p.op.Refute(w.Context(), a.ID, onejob.Decision{By: "ada", Reason: "not there"})
		require.NoError(w, err)
		both := p.spans("onejob.attempt")
		require.Len(w, both, 2)
		require.Equal(w, "failed", attrs(both[1])["onejob.state"])
		require.Equal(w, both[0].SpanContext.TraceID(), both[1].SpanContext.TraceID())
		require.Equal(w, both[0].StartTime, both[1].StartTime)
	})
}

// What a host hands to an observer by itself, or a store of its own, may have
// IDs that are no UUIDs.
func TestAJobIDThatIsNoUUIDStaysInTheCallersTrace(t *testing.T) {
	t.Parallel()
	p := newProcess(t, dbtest.SQLite(t))
	for _, id := range []onejob.JobID{"", "job-1", "00000000-0000-0000-0000-000000000000", "0190b2c0-zzzz-7000-8000-000000000001"} {
		p.exporter.Reset()
		require.False(t, otelonejob.JobSpanContext(id).IsValid(), id)
		_, end := p.observer.Observe(t.Context(), "Fail")
		end(onejob.Observation{
			Job: onejob.Job{ID: id}, Changed: true,
			Attempt: &onejob.Attempt{JobID: id, Provider: "acme-pay", State: onejob.StateFailed, StartedAt: time.Now()},
		})
		require.Empty(t, p.span("onejob.Fail").Links)
		require.Equal(t, p.span("onejob.Fail").SpanContext.TraceID(), p.span("onejob.attempt").SpanContext.TraceID())
		require.Equal(t, p.span("onejob.Fail").SpanContext.SpanID(), p.span("onejob.attempt").Parent.SpanID())
	}
	zeros := otelonejob.JobSpanContext("0190b2c0-0000-7000-0000-000000000000")
	require.True(t, zeros.IsValid(), "a UUID whose second half is zero")
}

func refuseAll(context.Context, *sql.Tx, onejob.Job) error { return errLedger }

var errLedger = errors.New("ledger is closed")
