package failover_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/failover"
)

// between does something once, just before an attempt is begun: after the walk
// has looked at the job.
type between struct {
	onejob.Store
	onejob.QualificationStore
	once *sync.Once
	do   func()
}

func (b between) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	b.once.Do(b.do)
	return b.Store.Start(ctx, p, try)
}

// Another worker has made the job's first attempt since this one looked: the
// provider that this one takes for the first has to prove itself like any other.
func TestAnAttemptOnAnOldViewAsksNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Refuse(http.StatusTooManyRequests)
		other := w.runner()
		store := between{w.store, w.store.(onejob.QualificationStore), new(sync.Once), func() {
			_, err := other.Run(w.Context(), intent("k"))
			require.ErrorIs(w, err, onejob.ErrNotQualified)
		}}
		w.jobs = onejob.New(store, nil)
		r := w.runner(func(c *config) { c.Providers[0], c.Providers[1] = w.targets[1], w.targets[0] })
		job, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		require.Equal(w, []int{1, 0}, w.calls())
		require.Equal(w, []string{"first failed", "second failed"}, w.states(job.ID))
		w.servers[1].Well()
		w.qualify(1)
		job, err = r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 1)
	})
}

// slow begins an attempt and takes its time to say so, as a process does that was
// frozen.
type slow struct {
	onejob.Store
	onejob.QualificationStore
	by time.Duration
}

func (s slow) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	rec, begun, err := s.Store.Start(ctx, p, try)
	time.Sleep(s.by)
	return rec, begun, err
}

// Others may have taken the attempt for dead, and asked the next: whoever comes
// to after the attempt's time asks nobody.
func TestWhoWasFrozenAsksNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.jobs = onejob.New(slow{w.store, w.store.(onejob.QualificationStore), 300 * time.Millisecond}, nil)
		_, err := w.runner(func(c *config) { c.Timeout, c.Tries = 200*time.Millisecond, 1 }).Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, failover.ErrTriesUsed)
		require.Equal(w, []int{0, 0}, w.calls())
	})
}

// A herd on one job: whoever meets an old view looks again, and nobody uses up
// the tries of a provider that was not asked.
func TestAHerdEndsWithAResult(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		w.servers[0].Refuse(http.StatusTooManyRequests)
		r := w.runner()
		for round := range 3 {
			key := fmt.Sprint("k", round)
			var group sync.WaitGroup
			for range 24 {
				group.Go(func() {
					for {
						_, err := r.Run(w.Context(), intent(key))
						if !errors.Is(err, onejob.ErrAttemptOpen) {
							require.NoError(w, err)
							return
						}
						time.Sleep(time.Millisecond)
					}
				})
			}
			group.Wait()
			w.requireDone(must(w.jobs.GetByKey(w.Context(), "owner-1", key)), nil, 1)
		}
		require.Equal(w, 3, w.calls()[1])
	})
}

// A late answer whose storing panics ends no process.
func TestAPanicWithNobodyWaitingIsSwallowed(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		w.jobs = onejob.New(w.store, &onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error { panic("boom") }})
		release := make(chan struct{})
		w.targets[0] = deaf{w.targets[0], release}
		r := w.runner(short)
		_, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		close(release)
		w.waitAll(r)
		require.Equal(w, onejob.StatusUnknown, must(w.jobs.GetByKey(w.Context(), "owner-1", "k")).Status())
	})
}

// Runs begin while somebody waits.
func TestWaitMayBeCalledAtAnyTime(t *testing.T) {
	t.Parallel()
	onBoth(t, 1, func(w *world) {
		r := w.runner()
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for n := range 25 {
					_, err := r.Run(w.Context(), intent(fmt.Sprint(i, " ", n)))
					require.NoError(w, err)
				}
			})
			group.Go(func() {
				for range 200 {
					ctx, cancel := context.WithTimeout(w.Context(), time.Microsecond)
					_ = r.Wait(ctx) // its error is that of ctx
					cancel()
				}
			})
		}
		group.Wait()
		w.waitAll(r)
	})
}

// A call that has not left this process yet has no trace at the provider, which
// proves nothing.
func TestNoTraceOfACallUnderWayProvesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.qualify(1)
		release := make(chan struct{})
		w.targets[0] = deafAsking{deaf{w.targets[0], release}}
		later := time.Now()
		r := w.runner(short, func(c *config) { c.Now = func() time.Time { return later } })
		_, err := r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		later = later.Add(time.Hour)
		_, err = r.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrInDoubt)
		close(release)
		w.waitAll(r)
		job, err := r.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
		require.Equal(w, []int{1, 0}, w.calls())
	})
}
