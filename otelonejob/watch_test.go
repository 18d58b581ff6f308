package otelonejob_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/faultproxy"
	"github.com/onejob-go/onejob/otelonejob"
)

const (
	doubts    = "onejob.unknown.attempts"
	oldestAge = "onejob.unknown.oldest_age"
	lookups   = "onejob.unknown.lookups"
)

// everyTime asks the database with each collection, however long that takes on a
// busy machine.
var everyTime = &otelonejob.WatchOptions{Interval: time.Nanosecond, Timeout: time.Minute, Wait: time.Minute}

func (p *process) watch(opts *otelonejob.WatchOptions) (stop func()) {
	p.Helper()
	stop, err := p.observer.Watch(p.op, opts)
	require.NoError(p, err)
	p.Cleanup(stop)
	return stop
}

func (p *process) doubt(key, provider string) onejob.Attempt {
	p.Helper()
	_, a := p.start(key, provider)
	_, err := p.jobs.MarkUnknown(p.Context(), a, nil)
	require.NoError(p, err)
	return a
}

func TestDoubtsAreCountedByProviderWhoeverHasThem(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p, elsewhere := w.process(), w.process()
		p.watch(everyTime)
		require.Equal(w, map[string]float64{"onejob.provider=none": 0}, p.points(doubts), "zero is an answer")
		require.Equal(w, map[string]float64{"onejob.provider=none": 0}, p.points(oldestAge))

		old := elsewhere.doubt("k1", "inkjet")
		w.backdate(2 * time.Hour)
		elsewhere.doubt("k2", "inkjet")
		elsewhere.doubt("k3", "laser")
		elsewhere.start("k4", "laser")
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 2, "onejob.provider=laser": 1}, p.points(doubts))
		ages := p.points(oldestAge)
		require.InDelta(w, 7200, ages["onejob.provider=inkjet"], 600)
		require.InDelta(w, 0, ages["onejob.provider=laser"], 600)

		for _, id := range []onejob.AttemptID{old.ID, must(elsewhere.attemptOf("k2"))} {
			_, err := elsewhere.op.Refute(w.Context(), id, decision)
			require.NoError(w, err)
		}
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 0, "onejob.provider=laser": 1}, p.points(doubts),
			"a gauge that goes away would not be one that falls")
		require.Equal(w, 0.0, p.points(oldestAge)["onejob.provider=inkjet"])
		require.Positive(w, p.points(lookups)["onejob.outcome=ok"])
		require.Zero(w, p.points(lookups)["onejob.outcome=error"])
	})
}

func (p *process) attemptOf(key string) (onejob.AttemptID, error) {
	job, err := p.jobs.GetByKey(p.Context(), "user-7", key)
	if err != nil {
		return "", err
	}
	return job.Attempt.ID, nil
}

func TestAnOverdueAttemptIsADoubtBeforeAnySweep(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		p.watch(everyTime)
		p.start("k", "inkjet")
		w.backdate(time.Hour) // its ten minutes have passed
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 1}, p.points(doubts))
	})
}

func TestTheDatabaseIsAskedOncePerInterval(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		stop := p.watch(&otelonejob.WatchOptions{Interval: time.Hour, Timeout: time.Minute, Wait: time.Minute})
		p.doubt("k1", "inkjet")
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 1}, p.points(doubts))
		p.doubt("k2", "inkjet")
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 1}, p.points(doubts), "the answer of this hour")
		require.Equal(w, 1.0, p.points(lookups)["onejob.outcome=ok"])

		_, err := p.observer.Watch(p.op, nil)
		require.ErrorContains(w, err, "stop that first")
		stop()
		stop()
		require.Empty(w, p.points(doubts), "nobody watches")
		p.watch(everyTime)
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 2}, p.points(doubts))
		_, err = p.observer.Watch(nil, nil)
		require.Error(w, err)
	})
}

// An attempt that was given hours was not in doubt for those.
func TestADoubtIsAsOldAsItsDeadline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		p.watch(everyTime)
		long := onejob.Try{Provider: "inkjet", Timeout: 3 * time.Hour}
		_, _, err := p.jobs.Start(w.Context(), intent("k1"), long)
		require.NoError(w, err)
		w.backdate(3*time.Hour + time.Minute)
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 1}, p.points(doubts))
		require.InDelta(w, 60, p.points(oldestAge)["onejob.provider=inkjet"], 50)
	})
}

func TestDoubtsAreReadUpToALimitOldestFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		p := w.process()
		p.watch(&otelonejob.WatchOptions{Interval: time.Nanosecond, Timeout: time.Minute, Wait: time.Minute, Limit: 2})
		p.doubt("k1", "inkjet")
		w.backdate(2 * time.Hour)
		p.doubt("k2", "inkjet")
		p.doubt("k3", "inkjet")
		require.Equal(w, map[string]float64{"onejob.provider=inkjet": 2}, p.points(doubts))
		require.InDelta(w, 7200, p.points(oldestAge)["onejob.provider=inkjet"], 600)
	})
}

func TestProvidersOfDoubtsHaveTheSameLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		max  int
		want map[string]float64
	}{
		{"one", 1, map[string]float64{"onejob.provider=inkjet": 1, "onejob.provider=other": 2}},
		{"left out", -1, map[string]float64{"": 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				p := w.process(func(o *otelonejob.Options, _ *onejob.Options, _ *[]sdktrace.TracerProviderOption) {
					o.MaxProviders = c.max
				})
				p.watch(everyTime)
				p.doubt("k1", "inkjet")
				p.doubt("k2", "laser")
				p.doubt("k3", "plotter")
				require.Equal(w, c.want, p.points(doubts))
			})
		})
	}
}

func TestADatabaseThatIsGoneIsNotZeroDoubts(t *testing.T) {
	t.Parallel()
	store, err := onejob.OpenSQLite(t.Context(), t.TempDir()+"/onejob.db", nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	p := newProcess(t, store)
	p.watch(everyTime)
	p.doubt("k1", "inkjet")
	require.Equal(t, map[string]float64{"onejob.provider=inkjet": 1}, p.points(doubts))
	require.NoError(t, store.Close())
	require.Empty(t, p.points(doubts))
	require.Empty(t, p.points(oldestAge))
	require.Positive(t, p.points(lookups)["onejob.outcome=error"])
}

// hanging is a process whose database has one doubt, and can go silent: lib/pq
// then waits for ever, whatever the context says.
func hanging(t *testing.T, opts *otelonejob.WatchOptions) (*process, *faultproxy.Proxy) {
	proxy := faultproxy.New(t, dbtest.PostgresDSN(t))
	p := (&world{t, "postgres", proxy.DSN}).process()
	p.doubt("k1", "inkjet")
	p.watch(opts)
	require.Eventually(t, func() bool { return len(p.points(doubts)) > 0 }, time.Minute, time.Millisecond, "it answers")
	return p, proxy
}

func TestADatabaseThatHangsIsCountedAsNoAnswer(t *testing.T) {
	t.Parallel()
	p, proxy := hanging(t, &otelonejob.WatchOptions{Interval: time.Nanosecond, Timeout: 500 * time.Millisecond, Wait: time.Minute})
	before := p.points(lookups)["onejob.outcome=error"]
	proxy.Sever(faultproxy.Hang)
	for range 20 { // the first waits for its time, the others find that it still hangs
		require.Empty(t, p.points(doubts))
	}
	require.GreaterOrEqual(t, p.points(lookups)["onejob.outcome=error"], before+20)
	proxy.Sever(faultproxy.FIN) // so that the one look-up that waits can end
	require.Eventually(t, func() bool { return len(p.points(doubts)) > 0 }, time.Minute, time.Millisecond, "it comes back")
}

func TestADatabaseThatHangsDoesNotHangTheExporter(t *testing.T) {
	t.Parallel()
	p, proxy := hanging(t, &otelonejob.WatchOptions{Interval: time.Nanosecond, Timeout: time.Hour, Wait: time.Millisecond})
	proxy.Sever(faultproxy.Hang)
	collected := make(chan map[string]float64)
	go func() {
		for range 20 {
			p.points(doubts)
		}
		collected <- p.points(doubts)
	}()
	select {
	case points := <-collected:
		require.Empty(t, points)
	case <-time.After(time.Minute):
		require.Fail(t, "the collection hangs with the database")
	}
}
