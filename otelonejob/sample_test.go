package otelonejob_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/google/uuid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/otelonejob"
)

// sampling is what a host sets: what to do with traces that begin here, and
// with attempts.
func sampling(root sdktrace.Sampler, attempts otelonejob.Sample) func(*otelonejob.Options, *onejob.Options, *[]sdktrace.TracerProviderOption) {
	return func(o *otelonejob.Options, _ *onejob.Options, tp *[]sdktrace.TracerProviderOption) {
		o.Sample = attempts
		*tp = append(*tp, sdktrace.WithSampler(sdktrace.ParentBased(root)))
	}
}

func TestSamplingIsDecidedForAttemptsByThemselves(t *testing.T) {
	t.Parallel()
	none := func(context.Context, onejob.Attempt) bool { return false }
	for _, c := range []struct {
		name                 string
		root                 sdktrace.Sampler
		sample               otelonejob.Sample
		operations, attempts int
	}{
		{"every attempt, where callers are not sampled", sdktrace.NeverSample(), nil, 0, 1},
		{"with the caller, who is not", sdktrace.NeverSample(), otelonejob.SampleWithCaller, 0, 0},
		{"with the caller, who is", sdktrace.AlwaysSample(), otelonejob.SampleWithCaller, 2, 1},
		{"no attempt", sdktrace.AlwaysSample(), none, 2, 0},
		{"all jobs", sdktrace.NeverSample(), otelonejob.SampleRatio(1), 0, 1},
		{"no job", sdktrace.AlwaysSample(), otelonejob.SampleRatio(0), 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				p := w.process(sampling(c.root, c.sample))
				_, a := p.start("k", "acme-pay")
				_, err := p.jobs.Complete(w.Context(), a, nil)
				require.NoError(w, err)
				require.Len(w, append(p.spans("onejob.Start"), p.spans("onejob.Complete")...), c.operations)
				require.Len(w, p.spans("onejob.attempt"), c.attempts)
			})
		})
	}
}

func TestAShareOfTheJobsIsTheSameInEveryProcess(t *testing.T) {
	t.Parallel()
	const jobs = 4000
	for _, share := range []float64{0.01, 0.25, 0.5, 0.9} {
		here, there := otelonejob.SampleRatio(share), otelonejob.SampleRatio(share)
		taken := 0
		for range jobs {
			a := onejob.Attempt{JobID: onejob.JobID(uuid.Must(uuid.NewV7()).String())}
			if here(t.Context(), a) {
				taken++
			}
			require.Equal(t, here(t.Context(), a), there(t.Context(), a))
		}
		// Six standard deviations, and a little for the smallest.
		require.InDelta(t, share*jobs, float64(taken), 200, fmt.Sprint(share))
	}
	require.True(t, otelonejob.SampleRatio(0)(t.Context(), onejob.Attempt{JobID: "no UUID"}))
}

func TestTheJobsSpanContextIsSampledAndRemote(t *testing.T) {
	t.Parallel()
	sc := otelonejob.JobSpanContext("0190b2c0-1111-7222-8333-444444444444")
	require.Equal(t, "0190b2c0111172228333444444444444", sc.TraceID().String())
	require.Equal(t, "8333444444444444", sc.SpanID().String())
	require.True(t, sc.IsRemote())
	require.Equal(t, trace.FlagsSampled, sc.TraceFlags())
}
