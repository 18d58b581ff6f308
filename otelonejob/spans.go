package otelonejob

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/onejob-go/onejob"
)

// startOperation begins the span of an operation, in the caller's trace.
func (o *Observer) startOperation(ctx context.Context, op string) (context.Context, trace.Span) {
	return o.tracer.Start(ctx, "onejob."+op)
}

// endOperation ends it. Which job it was about is known only now.
func (o *Observer) endOperation(span trace.Span, obs onejob.Observation, outcome, errorType string) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 12+len(o.base)), o.base...)
	attrs = append(attrs, attrOutcome.String(outcome), attrChanged.Bool(obs.Changed))
	if errorType != "" {
		attrs = append(attrs, attrErrorType.String(errorType))
	}
	job := obs.Job.ID
	if job != "" {
		attrs = append(attrs, attrStatus.String(string(obs.Job.Status())), attrKind.String(obs.Job.Kind))
	}
	if a := obs.Attempt; a != nil {
		attrs = append(attrs, attemptAttributes(*a)...)
		if job == "" {
			job = a.ID.Job()
		}
	}
	if job != "" {
		attrs = append(attrs, attrJob.String(string(job)))
		if parent := JobSpanContext(job); parent.IsValid() {
			span.AddLink(trace.Link{SpanContext: parent})
		}
	}
	if n := max(obs.Count, len(obs.Attempts)); n > 0 {
		attrs = append(attrs, attrCount.Int(n))
	}
	span.SetAttributes(attrs...)
	if outcome == outcomeError {
		span.SetStatus(codes.Error, errorType) // never the error's text: a driver's may quote values
	}
}

func attemptAttributes(a onejob.Attempt) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 4), attrAttempt.String(string(a.ID)))
	if a.Provider != "" {
		attrs = append(attrs, attrProvider.String(a.Provider))
	}
	if a.Number > 0 {
		attrs = append(attrs, attrNumber.Int(a.Number))
	}
	if a.State != "" {
		attrs = append(attrs, attrState.String(string(a.State)))
	}
	return attrs
}

// attemptSpan tells of an attempt that has ended or become unknown: a span in
// the job's trace, from its beginning by the store's clock, linked to the
// operation that ended it. Where the job's ID is no UUID the span is that
// operation's child.
func (o *Observer) attemptSpan(ctx context.Context, a onejob.Attempt, kind string) {
	if !o.sample(ctx, a) {
		return
	}
	opts := []trace.SpanStartOption{trace.WithTimestamp(a.StartedAt)}
	if parent := JobSpanContext(a.JobID); parent.IsValid() {
		if caller := trace.SpanContextFromContext(ctx); caller.IsValid() {
			opts = append(opts, trace.WithLinks(trace.Link{SpanContext: caller}))
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	attrs := append(make([]attribute.KeyValue, 0, 6+len(o.base)), o.base...)
	attrs = append(append(attrs, attrJob.String(string(a.JobID))), attemptAttributes(a)...)
	if kind != "" {
		attrs = append(attrs, attrKind.String(kind))
	}
	_, span := o.tracer.Start(ctx, "onejob.attempt", append(opts, trace.WithAttributes(attrs...))...)
	switch a.State {
	case onejob.StateUnknown, onejob.StateFailed, onejob.StateLate:
		span.SetStatus(codes.Error, string(a.State))
	}
	span.End(trace.WithTimestamp(endOf(a, time.Now())))
}

// endOf is when an attempt ended, or when the doubt began: when it was told, at
// the latest by the deadline. Between the store's clock and this process's
// nothing is promised, but no span ends before it begins.
func endOf(a onejob.Attempt, now time.Time) time.Time {
	end := now
	switch {
	case !a.EndedAt.IsZero():
		end = a.EndedAt
	case !a.Deadline.IsZero() && now.After(a.Deadline):
		end = a.Deadline
	}
	if end.Before(a.StartedAt) {
		return a.StartedAt
	}
	return end
}
