package otelonejob

import (
	"context"
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/trace"

	"github.com/onejob-go/onejob"
)

// Sample tells whether a span is made of an attempt as it now stands. ctx is the
// operation's that ended it, with the operation's span.
type Sample func(ctx context.Context, a onejob.Attempt) bool

func always(context.Context, onejob.Attempt) bool { return true }

// SampleRatio returns a Sample that takes a share of the jobs, 0 to 1, and of
// those every attempt: it goes by the job's ID, so that all processes choose the
// same jobs. To have every doubt beside them:
//
//	some := otelonejob.SampleRatio(0.01)
//	sample := func(ctx context.Context, a onejob.Attempt) bool {
//		return a.State == onejob.StateUnknown || some(ctx, a)
//	}
func SampleRatio(share float64) Sample {
	const scale = 1 << 56
	var bound uint64
	switch {
	case math.IsNaN(share) || share <= 0:
	case share >= 1:
		bound = scale
	default:
		bound = uint64(share * scale)
	}
	return func(_ context.Context, a onejob.Attempt) bool {
		id, ok := traceID(a.JobID)
		// The last 56 bits of a UUID of version 7 are all random; those before hold
		// a time and the version. Of an ID that is no UUID nothing can be told.
		return !ok || binary.BigEndian.Uint64(id[8:])&(scale-1) < bound
	}
}

// SampleWithCaller is a Sample that takes the attempts whose ending was in a
// sampled trace. Of one job's attempts, some may then have a span and others
// none.
func SampleWithCaller(ctx context.Context, _ onejob.Attempt) bool {
	return trace.SpanContextFromContext(ctx).IsSampled()
}
