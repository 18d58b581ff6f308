package otelonejob_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/otelonejob"
)

// What a host entrusts to the library, and nobody may find in its telemetry.
const (
	secretOwner  = "owner-s3cret"
	secretKey    = "key-s3cret"
	secretParams = "params-s3cret"
	secretResult = "result-s3cret"
	secretCause  = "cause-s3cret"
	secretBy     = "by-s3cret"
	secretReason = "reason-s3cret"
	secretRef    = "ref-s3cret"
	secretTarget = "target-s3cret"
	secretScope  = "scope-s3cret"
	marker       = "s3cret"
)

func secretIntent(n string) onejob.Intent {
	return onejob.Intent{Owner: secretOwner, Key: secretKey + n, Kind: "charge", Target: secretTarget,
		Params: []byte(`"` + secretParams + `"`), Scope: []string{secretScope}}
}

// everything is a host that does all there is to do, in every way to go wrong.
type everything struct {
	*process
	refuse bool // whether OnComplete refuses
}

func TestNothingThatIsEntrustedIsExported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		e := &everything{}
		e.process = w.process(func(_ *otelonejob.Options, o *onejob.Options, _ *[]sdktrace.TracerProviderOption) {
			o.OnComplete = func(context.Context, *sql.Tx, onejob.Job) error {
				if e.refuse {
					return errors.New(secretCause)
				}
				return nil
			}
		})
		e.watch(everyTime)
		e.doAll(w)

		exported := fmt.Sprintf("%+v", e.exporter.GetSpans())
		spans, err := json.Marshal(e.exporter.GetSpans())
		require.NoError(w, err)
		metrics, err := json.Marshal(e.collect())
		require.NoError(w, err)
		exported += string(spans) + string(metrics)
		require.NotContains(w, exported, marker)
		require.Contains(w, exported, "acme-pay", "what is looked through is what is exported")

		// Of every operation that is counted for an attempt one was seen, under the
		// name that is counted.
		for _, op := range []string{"BeginAttempt", "Start", "Complete", "CompleteTx", "Confirm", "Fail", "MarkUnknown",
			"Refute", "CancelAttempt", "DetachAttempt"} {
			require.NotEmpty(w, e.spans("onejob."+op), op)
		}
		for _, state := range []string{"started", "unknown", "detached", "succeeded", "failed", "canceled", "late"} {
			require.Positive(w, e.points("onejob.attempt.changes")["onejob.provider=acme-pay,onejob.state="+state], state)
		}
	})
}

func (e *everything) doAll(w *world) {
	ctx, jobs, op := e.Context(), e.jobs, e.op
	word := onejob.Decision{By: secretBy, Reason: secretReason}
	begin := func(n string) (onejob.Job, onejob.Attempt) {
		job, a, err := jobs.Start(ctx, secretIntent(n), try("acme-pay"))
		require.NoError(e, err)
		return job, a
	}
	job, a := begin("won")
	_, err := jobs.SetExternalRef(ctx, a, secretRef)
	require.NoError(e, err)
	_, err = jobs.Extend(ctx, a, time.Hour)
	require.NoError(e, err)
	e.refuse = true
	_, err = jobs.Complete(ctx, a, []byte(secretResult))
	require.Error(e, err)
	e.refuse = false
	_, err = jobs.Complete(ctx, a, []byte(secretResult))
	require.NoError(e, err)
	_, err = jobs.Complete(ctx, a, []byte(secretResult+"!"))
	require.ErrorIs(e, err, onejob.ErrResultMismatch)
	_, err = jobs.BeginAttempt(ctx, job, try("acme-pay"))
	require.ErrorIs(e, err, onejob.ErrCompleted)
	other := secretIntent("won")
	other.Params = nil
	_, _, err = jobs.Create(ctx, other)
	require.ErrorIs(e, err, onejob.ErrKeyConflict)
	_, err = jobs.Get(ctx, secretOwner+"x", job.ID)
	require.ErrorIs(e, err, onejob.ErrNotFound)
	_, err = jobs.GetByKey(ctx, secretOwner, secretKey)
	require.ErrorIs(e, err, onejob.ErrNotFound)
	_, _, err = jobs.Create(ctx, onejob.Intent{Owner: secretOwner, Key: secretKey + "\x00"})
	require.ErrorIs(e, err, onejob.ErrInvalid)

	job, a = begin("doubt")
	_, err = jobs.Fail(ctx, a, errors.New(secretCause))
	require.NoError(e, err)
	_, err = op.Reconcile(ctx, onejob.Filter{Owner: secretOwner}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		return nil, errors.New(secretCause)
	})
	require.NoError(e, err)
	_, err = op.DetachAttempt(ctx, a.ID, word)
	require.NoError(e, err)
	second, err := jobs.BeginAttempt(ctx, job, try("acme-pay"))
	require.NoError(e, err)
	_, err = jobs.MarkUnknown(ctx, second, errors.New(secretCause))
	require.NoError(e, err)
	_, err = op.Confirm(ctx, second.ID, []byte(secretResult), word)
	require.NoError(e, err)
	err = jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := jobs.CompleteTx(ctx, tx, a, []byte(secretResult))
		return err
	})
	require.ErrorIs(e, err, onejob.ErrLateResult)
	err = jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, _, err := jobs.CreateTx(ctx, tx, secretIntent("tx"))
		require.NoError(e, err)
		return errors.New(secretCause)
	})
	require.Error(e, err)

	_, a = begin("refuted")
	_, err = op.Refute(ctx, a.ID, word)
	require.NoError(e, err)
	job, a = begin("canceled")
	_, err = op.CancelAttempt(ctx, a.ID, word)
	require.NoError(e, err)
	_, err = op.CancelJob(ctx, job.ID, word)
	require.NoError(e, err)
	e.doWithDo(w)
}

func (e *everything) doWithDo(w *world) {
	ctx := e.Context()
	for n, err := range []error{errors.New(secretCause), onejob.NoEffect(errors.New(secretCause))} {
		_, err := e.jobs.Do(ctx, secretIntent(fmt.Sprint("do", n)), try("acme-pay"),
			func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return []byte(secretResult), err })
		require.Error(e, err)
	}
	require.Panics(e, func() {
		_, _ = e.jobs.Do(ctx, secretIntent("panic"), try("acme-pay"),
			func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { panic(secretCause) })
	})
	_, err := e.jobs.CreateMany(ctx, []onejob.Intent{secretIntent("won"), secretIntent("many"), {}})
	require.NoError(e, err)
	_, _, err = e.jobs.Start(ctx, secretIntent("overdue"), try("acme-pay"))
	require.NoError(e, err)
	w.backdate(time.Hour)
	swept, err := e.op.Sweep(ctx, 100)
	require.NoError(e, err)
	require.NotEmpty(e, swept)
	w.waitAndPurge(e.process, 3)
	_, err = e.op.Stats(ctx)
	require.NoError(e, err)
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		p.watch(everyTime)
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for m := range 10 {
					_, _ = p.jobs.Do(w.Context(), intent(fmt.Sprint(m)), try(strings.Repeat("p", 1+(n+m)%60)),
						func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
							switch m % 3 {
							case 0:
								return nil, nil
							case 1:
								return nil, errLost
							}
							return nil, onejob.NoEffect(errors.New("paper jam"))
						})
					p.collect()
				}
			})
		}
		wg.Wait()
		require.Equal(w, 10.0, p.points("onejob.job.requests")["onejob.kind=charge,onejob.result=created"])
		changes := map[string]float64{}
		for labels, n := range p.points("onejob.attempt.changes") {
			_, state, _ := strings.Cut(labels, "onejob.state=")
			changes[state] += n
		}
		require.Equal(w, changes["started"], changes["succeeded"]+changes["failed"]+changes["unknown"]+changes["late"])
		require.Equal(w, 4.0, changes["succeeded"])
		require.Equal(w, 3.0, changes["unknown"])
	})
}
