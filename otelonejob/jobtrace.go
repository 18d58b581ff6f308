package otelonejob

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"

	"github.com/onejob-go/onejob"
)

// JobSpanContext returns the parent of a job's attempts: the trace whose ID is
// the job's without its dashes, and the span whose ID is the second half of
// that. So every process finds the same without asking. The span itself is never
// exported. Start a span under
//
//	trace.ContextWithRemoteSpanContext(ctx, otelonejob.JobSpanContext(job.ID))
//
// to have it beside the attempts. It is marked as sampled. The span context of
// what is not a job's ID is not valid.
func JobSpanContext(id onejob.JobID) trace.SpanContext {
	tid, ok := traceID(id)
	if !ok {
		return trace.SpanContext{}
	}
	sid := trace.SpanID(tid[8:])
	if !sid.IsValid() {
		sid[7] = 1 // of a host's own IDs: zero is no span
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: tid, SpanID: sid, TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// traceID is the job's UUID, where it is one.
func traceID(id onejob.JobID) (tid trace.TraceID, ok bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return trace.TraceID{}, false
	}
	var digits [32]byte
	at := 0
	for _, part := range [...]onejob.JobID{id[:8], id[9:13], id[14:18], id[19:23], id[24:]} {
		at += copy(digits[at:], part)
	}
	if _, err := hex.Decode(tid[:], digits[:]); err != nil {
		return trace.TraceID{}, false
	}
	return tid, tid.IsValid()
}
