package loadtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/otelonejob"
)

// host is a service as its operators have it: jobs, their telemetry, and a page
// that Prometheus scrapes.
type host struct {
	*testing.T
	observer *otelonejob.Observer
	page     *httptest.Server
	path     string
	store    *onejob.SQLiteStore
	jobs, gone,
	refusing *onejob.Jobs
	op  *onejob.Operator
	ago atomic.Int64 // by how much the host's clock is behind, which is SQLite's
	n   int
}

func newHost(t *testing.T) *host {
	t.Helper()
	registry := promclient.NewRegistry()
	exporter, err := promexporter.New(promexporter.WithRegisterer(registry))
	require.NoError(t, err)
	h := &host{T: t, path: filepath.Join(t.TempDir(), "onejob.db")}
	h.observer, err = otelonejob.New(&otelonejob.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	require.NoError(t, err)
	h.page = httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(h.page.Close)

	h.store = h.open()
	t.Cleanup(func() { require.NoError(t, h.store.Close()) })
	require.NoError(t, h.store.Migrate(t.Context()))
	now := func() time.Time { return time.Now().Add(-time.Duration(h.ago.Load())) }
	h.jobs = onejob.New(h.store, &onejob.Options{Observer: h.observer, Now: now})
	h.refusing = onejob.New(h.store, &onejob.Options{Observer: h.observer, OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
		return errors.New("the ledger is closed")
	}})
	closed := h.open()
	require.NoError(t, closed.Close())
	h.gone = onejob.New(closed, &onejob.Options{Observer: h.observer})
	h.op = onejob.NewOperator(onejob.New(h.store, &onejob.Options{Observer: h.observer}))
	stop, err := h.observer.Watch(h.op, &otelonejob.WatchOptions{Interval: time.Second, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(stop)
	return h
}

func (h *host) open() *onejob.SQLiteStore {
	h.Helper()
	store, err := onejob.OpenSQLite(h.Context(), h.path, nil)
	require.NoError(h, err)
	return store
}

var (
	decision = onejob.Decision{By: "ada", Reason: "looked it up"}
	try      = onejob.Try{Provider: "acme-pay", Timeout: time.Minute}
)

func (h *host) intent() onejob.Intent {
	h.n++
	return onejob.Intent{Owner: "user-7", Key: fmt.Sprint("order-", h.n), Kind: "charge"}
}

func answer(result []byte, err error) onejob.Call {
	return func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return result, err }
}

// leaveADoubt begins an attempt three hours ago, of which nothing is heard.
func (h *host) leaveADoubt() {
	h.ago.Store(int64(3 * time.Hour))
	_, _, err := h.jobs.Start(h.Context(), h.intent(), onejob.Try{Provider: "laser", Timeout: time.Minute})
	h.ago.Store(0)
	require.NoError(h, err)
}

// work is some of everything, with what an operator hopes not to see.
func (h *host) work() {
	ctx := context.Background() // also while the test ends
	in := h.intent()
	_, err := h.jobs.Do(ctx, in, try, answer([]byte("paid"), nil))
	require.NoError(h, err)
	_, _, err = h.jobs.Create(ctx, in)
	require.NoError(h, err)
	in.Params = []byte("1")
	_, _, err = h.jobs.Create(ctx, in)
	require.ErrorIs(h, err, onejob.ErrKeyConflict)
	_, err = h.jobs.Do(ctx, h.intent(), try, answer(nil, onejob.NoEffect(errors.New("refused"))))
	require.ErrorIs(h, err, onejob.ErrFailed)

	in = h.intent()
	_, err = h.jobs.Do(ctx, in, try, answer(nil, errors.New("EOF")))
	require.ErrorIs(h, err, onejob.ErrInDoubt)
	job, _, err := h.jobs.Start(ctx, in, try)
	require.ErrorIs(h, err, onejob.ErrInDoubt)
	_, err = h.op.Refute(ctx, job.Attempt.ID, decision)
	require.NoError(h, err)
	_, a, err := h.jobs.Start(ctx, in, try)
	require.NoError(h, err)
	_, err = h.op.CancelJob(ctx, job.ID, decision)
	require.NoError(h, err)
	_, err = h.jobs.Complete(ctx, a, nil)
	require.ErrorIs(h, err, onejob.ErrLateResult)

	_, a, err = h.refusing.Start(ctx, h.intent(), try)
	require.NoError(h, err)
	_, err = h.refusing.Complete(ctx, a, nil)
	require.Error(h, err)
	_, err = h.op.CancelAttempt(ctx, a.ID, decision)
	require.NoError(h, err)
	for range 5 { // enough for a share that alerts
		_, _, err = h.gone.Create(ctx, h.intent())
		require.ErrorIs(h, err, onejob.ErrUnavailable)
	}
	_, err = h.op.Sweep(ctx, 10)
	require.NoError(h, err)
	_, err = h.op.Purge(ctx, onejob.Retention{Payloads: time.Nanosecond}, 1)
	require.NoError(h, err)
}

// keepWorking goes on until the test ends, for a rate needs two scrapes that
// differ.
func (h *host) keepWorking() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				h.work()
			}
		}
	}()
	h.Cleanup(func() {
		close(stop)
		<-stopped
	})
}
