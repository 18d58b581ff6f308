package storetest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// harness is what a case gets: a new store, Jobs and an operator on it.
type harness struct {
	*testing.T
	options options
	store   onejob.Store
	jobs    *onejob.Jobs
	op      *onejob.Operator
	log     *logBuffer
	ctx     context.Context
}

func newHarness(t *testing.T, store onejob.Store) *harness {
	h := &harness{T: t, store: store, log: &logBuffer{}, ctx: t.Context()}
	h.use(onejob.Options{})
	return h
}

// use puts other options in the place of the default ones. The log is always
// the harness's own.
func (h *harness) use(o onejob.Options) {
	o.Logger = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.jobs = onejob.New(h.store, &o)
	h.op = onejob.NewOperator(h.jobs)
}

// logBuffer holds what was logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// someone is the decision that cases make.
var someone = onejob.Decision{By: "ada", Reason: "asked the provider"}

// intent is an intent with the key, of one owner and with some params.
func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge", Params: []byte(`{"amount": 1200, "currency": "EUR"}`)}
}

// try is an attempt by the provider with time enough.
func try(provider string) onejob.Try {
	return onejob.Try{Provider: provider, Timeout: time.Hour}
}

// create makes the job with the key.
func (h *harness) create(key string) onejob.Job {
	h.Helper()
	job, created, err := h.jobs.Create(h.ctx, intent(key))
	require.NoError(h, err)
	require.True(h, created)
	return job
}

// begin begins an attempt that must succeed.
func (h *harness) begin(job onejob.Job, provider string) onejob.Attempt {
	h.Helper()
	a, err := h.jobs.BeginAttempt(h.ctx, job, try(provider))
	require.NoError(h, err)
	return a
}

// start makes a new job with a started attempt.
func (h *harness) start(key string) (onejob.Job, onejob.Attempt) {
	h.Helper()
	job, a, err := h.jobs.Start(h.ctx, intent(key), try("primary"))
	require.NoError(h, err)
	return job, a
}

// complete completes the attempt, which must win.
func (h *harness) complete(a onejob.Attempt, result string) onejob.Job {
	h.Helper()
	job, err := h.jobs.Complete(h.ctx, a, []byte(result))
	require.NoError(h, err)
	return job
}

// overdue begins an attempt whose deadline has passed by the store's clock, and
// which nobody swept.
func (h *harness) overdue(job onejob.Job, provider string) onejob.Attempt {
	h.Helper()
	a, err := h.jobs.BeginAttempt(h.ctx, job, onejob.Try{Provider: provider, Timeout: time.Microsecond})
	require.NoError(h, err)
	for range 1000 {
		_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
		require.NoError(h, err)
		if now.State == onejob.StateUnknown {
			return a
		}
	}
	require.Fail(h, "an attempt past its deadline does not read as unknown")
	return a
}

// states are the ways into each state of an attempt. Each starts a new job with
// the key and brings its first attempt there.
func (h *harness) inState(key string, state onejob.State) (onejob.Job, onejob.Attempt) {
	h.Helper()
	job, a := h.start(key)
	var err error
	switch state {
	case onejob.StateStarted:
	case onejob.StateUnknown:
		_, err = h.jobs.MarkUnknown(h.ctx, a, errors.New("no answer"))
	case onejob.StateDetached:
		_, err = h.op.DetachAttempt(h.ctx, a.ID, someone)
	case onejob.StateSucceeded:
		_, err = h.jobs.Complete(h.ctx, a, []byte("result"))
	case onejob.StateFailed:
		_, err = h.op.Refute(h.ctx, a.ID, someone)
	case onejob.StateCanceled:
		_, err = h.op.CancelAttempt(h.ctx, a.ID, someone)
	case onejob.StateLate:
		_, err = h.op.DetachAttempt(h.ctx, a.ID, someone)
		require.NoError(h, err)
		h.complete(h.begin(job, "fallback"), "the winner's")
		_, err = h.jobs.Complete(h.ctx, a, []byte("the loser's"))
		require.ErrorIs(h, err, onejob.ErrLateResult)
		err = nil
	}
	require.NoError(h, err)
	job, a, err = h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, state, a.State)
	return job, a
}

// allStates are the states of an attempt.
var allStates = []onejob.State{
	onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached, onejob.StateSucceeded,
	onejob.StateFailed, onejob.StateCanceled, onejob.StateLate,
}

// purge drops the payloads of all final jobs. Clocks count microseconds, so a
// job that ended in this one is not due yet.
func (h *harness) purge(want int) {
	h.Helper()
	for done := 0; done < want; {
		n, err := h.op.Purge(h.ctx, onejob.Retention{Payloads: time.Microsecond}, 100)
		require.NoError(h, err)
		done += n
	}
}

// removeTombstones removes purged jobs altogether.
func (h *harness) removeTombstones(want int) {
	h.Helper()
	for done := 0; done < want; {
		n, err := h.op.Purge(h.ctx, onejob.Retention{Tombstones: time.Microsecond}, 100)
		require.NoError(h, err)
		done += n
	}
}

// together runs n functions that all begin at one instant, and waits for them.
func together(n int, run func(i int)) {
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			run(i)
		})
	}
	close(gate)
	wg.Wait()
}

// refusal returns err as what it must be: an *onejob.Error of the sentinel.
func (h *harness) refusal(err, sentinel error) *onejob.Error {
	h.Helper()
	require.ErrorIs(h, err, sentinel)
	var e *onejob.Error
	require.ErrorAs(h, err, &e)
	return e
}

// attempts returns all attempts of the job.
func (h *harness) attempts(job onejob.Job) []onejob.Attempt {
	h.Helper()
	list, err := h.jobs.Attempts(h.ctx, job.Owner, job.ID)
	require.NoError(h, err)
	return list
}
