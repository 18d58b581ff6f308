package otelonejob_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/otelonejob"
)

var decision = onejob.Decision{By: "ada", Reason: "looked it up"}

func TestADoubleClickIsOneJobMadeAndTheOthersFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		here, there := w.process(), w.process()
		var wg sync.WaitGroup
		for _, p := range []*process{here, there} {
			for range 5 {
				wg.Go(func() {
					_, _, err := p.jobs.Create(w.Context(), intent("k"))
					require.NoError(w, err)
				})
			}
		}
		wg.Wait()
		a, b := here.points("onejob.job.requests"), there.points("onejob.job.requests")
		const created, existing = "onejob.kind=charge,onejob.result=created", "onejob.kind=charge,onejob.result=existing"
		require.Equal(w, 1.0, a[created]+b[created])
		require.Equal(w, 9.0, a[existing]+b[existing])
	})
}

func TestRequestsAreCountedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		_, a := p.start("k", "acme-pay")
		_, _, err := p.jobs.Start(w.Context(), intent("k"), try("acme-pay"))
		require.ErrorIs(w, err, onejob.ErrAttemptOpen)
		other := intent("k")
		other.Params = nil
		_, _, err = p.jobs.Create(w.Context(), other)
		require.ErrorIs(w, err, onejob.ErrKeyConflict)
		_, err = p.jobs.CreateMany(w.Context(), []onejob.Intent{intent("k"), intent("k2"), intent("k3")})
		require.NoError(w, err)
		_, err = p.jobs.Complete(w.Context(), a, nil)
		require.NoError(w, err)
		_, err = p.op.CancelJob(w.Context(), must(p.jobs.GetByKey(w.Context(), "user-7", "k2")).ID, decision)
		require.NoError(w, err)
		w.waitAndPurge(p, 2)
		_, _, err = p.jobs.Create(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrKeyRetired)
		require.Equal(w, map[string]float64{
			"onejob.kind=charge,onejob.result=created":  1,
			"onejob.kind=charge,onejob.result=existing": 1,
			"onejob.kind=charge,onejob.result=conflict": 1,
			"onejob.kind=charge,onejob.result=retired":  1,
			"onejob.result=created":                     2, // of CreateMany, whose kinds are not told
		}, p.points("onejob.job.requests"))
		require.Equal(w, map[string]float64{
			"onejob.kind=charge,onejob.state=completed": 1,
			"onejob.kind=charge,onejob.state=canceled":  1,
		}, p.points("onejob.jobs.ended"))
		require.Equal(w, map[string]float64{"": 2}, p.points("onejob.jobs.purged"))
		require.Equal(w, map[string]float64{
			"onejob.op=Start,onejob.reason=attempt_open":  1,
			"onejob.op=Create,onejob.reason=key_conflict": 1,
			"onejob.op=Create,onejob.reason=key_retired":  1,
		}, p.points("onejob.refusals"))
	})
}

// waitAndPurge purges n jobs, as soon as their ends are in the past.
func (w *world) waitAndPurge(p *process, n int) {
	w.Helper()
	require.Eventually(w, func() bool {
		purged, err := p.op.Purge(w.Context(), onejob.Retention{Payloads: time.Nanosecond}, 100)
		require.NoError(w, err)
		n -= purged
		return n == 0
	}, time.Minute, time.Millisecond)
}

func TestDoIsCountedByItsSteps(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		call := func(result []byte, err error) onejob.Call {
			return func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return result, err }
		}
		_, err := p.jobs.Do(w.Context(), intent("k"), try("inkjet"), call(nil, onejob.NoEffect(errors.New("paper jam"))))
		require.ErrorIs(w, err, onejob.ErrFailed)
		_, err = p.jobs.Do(w.Context(), intent("k"), try("laser"), call(nil, errLost))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		_, err = p.jobs.Do(w.Context(), intent("k"), try("inkjet"), call(nil, nil))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		require.Equal(w, map[string]float64{
			"onejob.provider=inkjet,onejob.state=started": 1, "onejob.provider=inkjet,onejob.state=failed": 1,
			"onejob.provider=laser,onejob.state=started": 1, "onejob.provider=laser,onejob.state=unknown": 1,
		}, nonzero(p.points("onejob.attempt.changes")))
		require.Equal(w, map[string]float64{"onejob.op=Start,onejob.reason=in_doubt": 1}, p.points("onejob.refusals"),
			"the doubt in the way, once, and not what the calls came to")
		require.Equal(w, map[string]float64{
			"onejob.provider=inkjet,onejob.state=failed": 1, "onejob.provider=laser,onejob.state=unknown": 1,
		}, p.points("onejob.attempt.duration"))
		require.Equal(w, map[string]float64{
			"onejob.op=Do,onejob.outcome=refused":    3,
			"onejob.op=Start,onejob.outcome=ok":      2,
			"onejob.op=Start,onejob.outcome=refused": 1,
			"onejob.op=Fail,onejob.outcome=ok":       2,
		}, p.points("onejob.operation.duration"))
	})
}

func TestALateResultIsCountedOnceByWhyItWasLate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		here, there := w.process(), w.process()
		late := func(p *process, a onejob.Attempt) {
			for range 2 { // a worker tries again
				_, err := p.jobs.Complete(w.Context(), a, []byte("one too many"))
				require.ErrorIs(w, err, onejob.ErrLateResult)
			}
		}
		job, slow := here.start("k", "inkjet")
		_, err := here.op.DetachAttempt(w.Context(), slow.ID, decision)
		require.NoError(w, err)
		quick, err := there.jobs.BeginAttempt(w.Context(), job, try("laser"))
		require.NoError(w, err)
		_, err = there.jobs.Complete(w.Context(), quick, nil)
		require.NoError(w, err)
		late(here, slow)

		_, refuted := here.start("k2", "inkjet")
		_, err = here.op.Refute(w.Context(), refuted.ID, decision)
		require.NoError(w, err)
		late(here, refuted)

		withdrawn, open := here.start("k3", "inkjet")
		_, err = here.op.CancelJob(w.Context(), withdrawn.ID, decision)
		require.NoError(w, err)
		_, err = here.op.Confirm(w.Context(), open.ID, nil, decision)
		require.ErrorIs(w, err, onejob.ErrJobCanceled)

		require.Equal(w, map[string]float64{
			"onejob.provider=inkjet,onejob.reason=lost":          1,
			"onejob.provider=inkjet,onejob.reason=attempt_ended": 1,
			"onejob.provider=inkjet,onejob.reason=job_canceled":  1,
		}, here.points("onejob.late_results"))
		require.Equal(w, map[string]float64{
			"onejob.provider=inkjet,onejob.state=started":  3,
			"onejob.provider=inkjet,onejob.state=detached": 1,
			"onejob.provider=inkjet,onejob.state=failed":   1,
			"onejob.provider=inkjet,onejob.state=late":     2,
		}, nonzero(here.points("onejob.attempt.changes")))
		require.Empty(w, nonzero(there.points("onejob.late_results")), "the winner hears of nothing")
		require.Len(w, there.points("onejob.late_results"), 3, "and its counters have begun, so that a first one shows")
		require.Len(w, here.spans("onejob.attempt"), 3)
	})
}

func TestAResultThatLosesItsTransactionIsCountedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		job, slow := p.start("k", "inkjet")
		_, err := p.op.DetachAttempt(w.Context(), slow.ID, decision)
		require.NoError(w, err)
		_, err = p.jobs.Do(w.Context(), intent("k"), try("laser"),
			func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return nil, nil })
		require.NoError(w, err)
		err = p.jobs.Tx(w.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := p.jobs.CompleteTx(ctx, tx, slow, nil)
			return err
		})
		require.ErrorIs(w, err, onejob.ErrLateResult)
		_, err = p.jobs.Complete(w.Context(), slow, nil)
		require.ErrorIs(w, err, onejob.ErrLateResult)
		require.Equal(w, map[string]float64{"onejob.provider=inkjet,onejob.reason=lost": 1}, nonzero(p.points("onejob.late_results")))
		require.Equal(w, 1.0, p.points("onejob.attempt.changes")["onejob.provider=inkjet,onejob.state=late"])
		require.Equal(w, 1.0, p.points("onejob.refusals")["onejob.op=CompleteTx,onejob.reason=late_result"])
		require.NotContains(w, p.points("onejob.refusals"), "onejob.op=Tx,onejob.reason=late_result")
		require.NotEmpty(w, job.ID)
	})
}

// A Wait whose time is over says so by its context's own error; a database that
// does not answer by the deadline is another matter.
func TestAWaitThatEndsWithItsContextIsNoFailure(t *testing.T) {
	t.Parallel()
	p := newProcess(t, dbtest.SQLite(t))
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, err := range []error{over.Err(), &onejob.Error{Op: "Wait", Err: onejob.ErrUnavailable, Cause: over.Err()}} {
		_, end := p.observer.Observe(over, "Wait")
		end(onejob.Observation{Err: err})
	}
	require.Equal(t, map[string]float64{
		"onejob.op=Wait,onejob.outcome=canceled":                     1,
		"error.type=unavailable,onejob.op=Wait,onejob.outcome=error": 1,
	}, p.points("onejob.operation.duration"))
}

func TestNamesBeyondTheLimitAreOther(t *testing.T) {
	t.Parallel()
	limits := func(providers, kinds int) func(*otelonejob.Options, *onejob.Options, *[]sdktrace.TracerProviderOption) {
		return func(o *otelonejob.Options, _ *onejob.Options, _ *[]sdktrace.TracerProviderOption) {
			o.MaxProviders, o.MaxKinds = providers, kinds
		}
	}
	for _, c := range []struct {
		name             string
		providers, kinds int
		changes          map[string]float64
		requests         map[string]float64
	}{
		{"two and one", 2, 1, map[string]float64{
			"onejob.provider=a,onejob.state=started": 1, "onejob.provider=b,onejob.state=started": 1,
			"onejob.provider=other,onejob.state=started": 2,
		}, map[string]float64{"onejob.kind=a,onejob.result=created": 1, "onejob.kind=other,onejob.result=created": 3}},
		{"left out", -1, -1, map[string]float64{"onejob.state=started": 4}, map[string]float64{"onejob.result=created": 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				p := w.process(limits(c.providers, c.kinds))
				for _, name := range []string{"a", "b", "c", "d"} {
					in := intent(name)
					in.Kind = name
					_, _, err := p.jobs.Start(w.Context(), in, try(name))
					require.NoError(w, err)
				}
				require.Equal(w, c.changes, nonzero(p.points("onejob.attempt.changes")))
				require.Equal(w, c.requests, p.points("onejob.job.requests"))
				require.Equal(w, "d", attrs(p.spans("onejob.Start")[3])["onejob.provider"], "spans have no limit")
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A doubt that a sweep has found and the worker then marks, or the other way
// round, is one.
func TestADoubtThatASweepHasFoundIsCountedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		_, a := p.start("k", "inkjet")
		w.backdate(time.Hour)
		swept, err := p.op.Sweep(w.Context(), 10)
		require.NoError(w, err)
		require.Len(w, swept, 1)
		_, err = p.jobs.MarkUnknown(w.Context(), a, io.ErrUnexpectedEOF)
		require.NoError(w, err)
		require.Equal(w, 1.0, p.points("onejob.attempt.changes")["onejob.provider=inkjet,onejob.state=unknown"])
	})
}
