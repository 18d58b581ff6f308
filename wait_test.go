package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// watchedStore is a store that counts how it is asked about what is waited for, and
// can be told to answer wrongly.
type watchedStore struct {
	onejob.Store
	onejob.TxStore
	onejob.OperatorStore
	looks, most, finds atomic.Int64
	blind, down        atomic.Bool
	mu                 sync.Mutex
	first              func() // runs once, before a Find
	meanwhile          func() // runs once, between the store's answer to a Find and its return
}

func (s *watchedStore) Settled(ctx context.Context, ids []onejob.JobID, clock func() time.Time) ([]onejob.JobID, error) {
	s.looks.Add(1)
	s.most.Store(max(s.most.Load(), int64(len(ids))))
	switch {
	case s.down.Load():
		return nil, errors.New("no answer")
	case s.blind.Load():
		return nil, nil
	}
	return s.Store.(onejob.WaitStore).Settled(ctx, ids, clock)
}

func (s *watchedStore) Find(ctx context.Context, p onejob.FindParams) (onejob.Record, error) {
	s.mu.Lock()
	first := s.first
	s.first = nil
	s.mu.Unlock()
	if first != nil {
		first()
	}
	rec, err := s.Store.Find(ctx, p)
	s.mu.Lock()
	f := s.meanwhile
	s.meanwhile = nil
	s.mu.Unlock()
	if f != nil {
		f()
	}
	s.finds.Add(1)
	return rec, err
}

func (s *watchedStore) before(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = f
}

func (s *watchedStore) during(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meanwhile = f
}

func newWatched(store onejob.Store) *watchedStore {
	return &watchedStore{Store: store, TxStore: store.(onejob.TxStore), OperatorStore: store.(onejob.OperatorStore)}
}

type answered struct {
	job onejob.Job
	err error
}

// waitFor waits in the background, and returns once the wait has begun.
func waitFor(t *testing.T, jobs *onejob.Jobs, store *watchedStore, id onejob.JobID) <-chan answered {
	t.Helper()
	before := store.finds.Load()
	done := make(chan answered, 1)
	go func() {
		job, err := jobs.Wait(t.Context(), "owner-1", id)
		done <- answered{job, err}
	}()
	require.Eventually(t, func() bool { return store.finds.Load() > before }, time.Minute, 100*time.Microsecond)
	return done
}

// Looking is switched off here: what wakes a waiter is the word alone.
func TestWhatThisProcessChangesIsToldToItsWaiters(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		store := newWatched(inner)
		store.blind.Store(true)
		jobs := onejob.New(store, nil)
		op := onejob.NewOperator(jobs)
		ctx := t.Context()
		for name, end := range map[string]func(a onejob.Attempt) error{
			"Complete":    func(a onejob.Attempt) error { _, err := jobs.Complete(ctx, a, nil); return err },
			"MarkUnknown": func(a onejob.Attempt) error { _, err := jobs.MarkUnknown(ctx, a, nil); return err },
			"Fail":        func(a onejob.Attempt) error { _, err := jobs.Fail(ctx, a, errors.New("EOF")); return err },
			"Confirm":     func(a onejob.Attempt) error { _, err := op.Confirm(ctx, a.ID, nil, lockWord); return err },
			"CancelJob":   func(a onejob.Attempt) error { _, err := op.CancelJob(ctx, a.JobID, lockWord); return err },
			"Tx": func(a onejob.Attempt) error {
				return jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
					_, err := jobs.CompleteTx(ctx, tx, a, nil)
					return err
				})
			},
		} {
			job, a, err := jobs.Start(ctx, intentOf(name), hourTry)
			require.NoError(t, err)
			waits := waitFor(t, jobs, store, job.ID)
			require.NoError(t, end(a), name)
			got := <-waits
			require.NoError(t, got.err, name)
			require.NotEqual(t, onejob.StatusRunning, got.job.Status(), name)
		}
		job, _, err := jobs.Start(ctx, intentOf("Sweep"), onejob.Try{Provider: "p", Timeout: 500 * time.Millisecond})
		require.NoError(t, err)
		waits := waitFor(t, jobs, store, job.ID)
		require.Eventually(t, func() bool {
			swept, err := op.Sweep(ctx, 10)
			return err == nil && len(swept) == 1
		}, time.Minute, 10*time.Millisecond)
		require.Equal(t, onejob.StatusUnknown, (<-waits).job.Status())
	})
}

// Between the first look and the wait is no gap: the word is not said twice.
func TestAWordDuringTheFirstLookIsHeard(t *testing.T) {
	t.Parallel()
	store := newWatched(dbtest.SQLite(t))
	store.blind.Store(true)
	jobs := onejob.New(store, nil)
	job, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	store.during(func() {
		_, err := jobs.Complete(t.Context(), a, []byte("r"))
		require.NoError(t, err)
	})
	got, err := jobs.Wait(t.Context(), "owner-1", job.ID)
	require.NoError(t, err)
	require.Equal(t, []byte("r"), got.Result)
}

// Who came while the store was asked has read something newer than its answer.
func TestAWaiterIsNotToldWhatIsOlderThanItsWait(t *testing.T) {
	t.Parallel()
	store := newWatched(dbtest.SQLite(t))
	store.blind.Store(true)
	jobs := onejob.New(store, nil)
	others := onejob.New(store.Store, nil)
	job, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	first := waitFor(t, jobs, store, job.ID)
	var second <-chan answered
	sat := make(chan struct{})
	store.during(func() { // the word of the doubt has been heard, and the job read
		_, err := onejob.NewOperator(others).Refute(t.Context(), a.ID, lockWord)
		require.NoError(t, err)
		second = waitFor(t, jobs, store, job.ID)
		close(sat)
	})
	_, err = jobs.MarkUnknown(t.Context(), a, nil)
	require.NoError(t, err)
	require.Equal(t, onejob.StatusUnknown, (<-first).job.Status())
	<-sat
	b, err := others.BeginAttempt(t.Context(), job, hourTry)
	require.NoError(t, err)
	_, err = jobs.Complete(t.Context(), b, nil)
	require.NoError(t, err)
	require.Equal(t, onejob.StatusCompleted, (<-second).job.Status())
}

// What others were told before somebody's own first look had its answer is not for
// that one: it may be older.
func TestAWaiterIsNotToldWhatIsOlderThanItsFirstLook(t *testing.T) {
	t.Parallel()
	store := newWatched(dbtest.SQLite(t))
	store.blind.Store(true)
	jobs, others := onejob.New(store, nil), onejob.New(store.Store, nil)
	job, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	first := waitFor(t, jobs, store, job.ID)
	second := make(chan answered, 1)
	var late onejob.Attempt
	// The second one's first look waits for a connection, say: it is answered last.
	store.before(func() {
		_, err := jobs.MarkUnknown(t.Context(), a, nil)
		require.NoError(t, err)
		require.Equal(t, onejob.StatusUnknown, (<-first).job.Status())
		_, err = onejob.NewOperator(others).Refute(t.Context(), a.ID, lockWord)
		require.NoError(t, err)
		late, err = others.BeginAttempt(t.Context(), job, hourTry)
		require.NoError(t, err)
	})
	before := store.finds.Load()
	go func() {
		job, err := jobs.Wait(t.Context(), "owner-1", job.ID)
		second <- answered{job, err}
	}()
	require.Eventually(t, func() bool { return store.finds.Load() >= before+2 }, time.Minute, 100*time.Microsecond)
	_, err = jobs.Complete(t.Context(), late, nil)
	require.NoError(t, err)
	require.Equal(t, onejob.StatusCompleted, (<-second).job.Status())
}

// hub is a Notifier between the Jobs of one test.
type hub struct {
	mu    sync.Mutex
	hints []func(onejob.JobID)
	told  []onejob.JobID
}

func (h *hub) Notify(id onejob.JobID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, id)
	for _, hint := range h.hints {
		hint(id)
	}
}

func (h *hub) Subscribe(hint func(onejob.JobID)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hints = append(h.hints, hint)
}

func TestANotifierCarriesTheWordToOtherProcesses(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		store, h := newWatched(inner), &hub{}
		store.blind.Store(true)
		here := onejob.New(store, &onejob.Options{Notifier: h})
		there := onejob.New(inner, &onejob.Options{Notifier: h})
		job, a, err := here.Start(t.Context(), intentOf("k"), hourTry)
		require.NoError(t, err)
		waits := waitFor(t, here, store, job.ID)
		h.Notify("00000000-0000-7000-8000-000000000000") // nobody waits for it
		h.Notify("nonsense")
		h.Notify(job.ID) // untrue: nothing has changed
		_, err = there.Complete(t.Context(), a, []byte("r"))
		require.NoError(t, err)
		got := <-waits
		require.NoError(t, got.err)
		require.Equal(t, []byte("r"), got.job.Result)
		require.Contains(t, h.told, job.ID)

		// Hints were lost, and that is told: all are looked at.
		store.blind.Store(false)
		job, a, err = here.Start(t.Context(), intentOf("lost"), hourTry)
		require.NoError(t, err)
		waits = waitFor(t, here, store, job.ID)
		_, err = onejob.New(inner, nil).Complete(t.Context(), a, nil)
		require.NoError(t, err)
		h.Notify("")
		require.NoError(t, (<-waits).err)
	})
}

// Each goroutine of its own, and none of the database for itself.
func TestThousandsOfWaitersShareOneLook(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		const n, each = 100, 20
		store := newWatched(inner)
		jobs, others := onejob.New(store, nil), onejob.New(inner, nil)
		intents := make([]onejob.Intent, n)
		for i := range intents {
			intents[i] = intentOf(fmt.Sprint("k", i))
		}
		created, err := jobs.CreateMany(t.Context(), intents)
		require.NoError(t, err)
		var all sync.WaitGroup
		var wrong atomic.Int64
		for _, c := range created {
			for range each {
				all.Go(func() {
					job, err := jobs.Wait(t.Context(), "owner-1", c.Job.ID)
					if err != nil || job.ID != c.Job.ID || string(job.Result) != string(c.Job.ID) {
						wrong.Add(1)
					}
					clear(job.Result) // another's must not be these bytes
				})
			}
		}
		require.Eventually(t, func() bool { return store.finds.Load() == n*each }, time.Minute, time.Millisecond)
		began := time.Now()
		for _, c := range created {
			a, err := others.BeginAttempt(t.Context(), c.Job, hourTry)
			require.NoError(t, err)
			_, err = others.Complete(t.Context(), a, []byte(c.Job.ID))
			require.NoError(t, err)
		}
		all.Wait()
		require.Zero(t, wrong.Load())
		require.EqualValues(t, n*each+n, store.finds.Load(), "one read for each job, however many wait for it")
		// One goroutine looks, each time at all that are due: at most once in 50 ms.
		require.LessOrEqual(t, store.looks.Load(), 2+int64(time.Since(began)/(50*time.Millisecond))+n/10)
		require.Greater(t, store.most.Load(), int64(1))
	})
}

func TestAWaitOutlivesADatabaseThatGivesNoAnswer(t *testing.T) {
	t.Parallel()
	store := newWatched(dbtest.SQLite(t))
	jobs := onejob.New(store, nil)
	job, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	store.down.Store(true)
	waits := waitFor(t, jobs, store, job.ID)
	_, err = onejob.New(store.Store, nil).Complete(t.Context(), a, nil)
	require.NoError(t, err)
	before := store.looks.Load()
	require.Eventually(t, func() bool { return store.looks.Load() > before+2 }, time.Minute, time.Millisecond)
	require.Empty(t, waits)
	store.down.Store(false)
	require.NoError(t, (<-waits).err)
}

// plainStore has no ability but those of Store.
type plainStore struct{ onejob.Store }

func TestAStoreThatCannotLookAtManyIsReadOneByOne(t *testing.T) {
	t.Parallel()
	store := dbtest.SQLite(t)
	jobs := onejob.New(plainStore{store}, nil)
	job, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() {
		_, err := jobs.Wait(t.Context(), "owner-1", job.ID)
		waits <- err
	}()
	_, err = onejob.New(store, nil).Complete(t.Context(), a, nil)
	require.NoError(t, err)
	require.NoError(t, <-waits)
}

// A removed job is not waited for, and is told as none.
func TestAWaitEndsWithItsJob(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, inner onejob.Store) {
		store := newWatched(inner)
		store.blind.Store(true)
		jobs := onejob.New(store, nil)
		op := onejob.NewOperator(onejob.New(inner, nil))
		job, _, err := jobs.Create(t.Context(), intentOf("k"))
		require.NoError(t, err)
		waits := waitFor(t, jobs, store, job.ID)
		_, err = op.CancelJob(t.Context(), job.ID, lockWord)
		require.NoError(t, err)
		short := onejob.Retention{Payloads: time.Microsecond, Tombstones: time.Microsecond}
		require.Eventually(t, func() bool {
			_, err := op.Purge(t.Context(), short, 10)
			require.NoError(t, err)
			_, err = jobs.Get(t.Context(), "owner-1", job.ID)
			return errors.Is(err, onejob.ErrNotFound)
		}, time.Minute, time.Millisecond)
		store.blind.Store(false)
		require.ErrorIs(t, (<-waits).err, onejob.ErrNotFound)
	})
}

// Nothing runs where nobody waits.
func TestAWaitLeavesNoGoroutineBehind(t *testing.T) {
	store := newWatched(dbtest.SQLite(t))
	jobs := onejob.New(store, nil)
	job, _, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
	require.NoError(t, err)
	require.False(t, serving(jobs))
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := jobs.Wait(ctx, "owner-1", job.ID)
			done <- err
		}()
		require.Eventually(t, func() bool { return serving(jobs) }, time.Minute, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Eventually(t, func() bool { return !serving(jobs) }, time.Minute, time.Millisecond)
	}
}

// serving reports whether the goroutine is there that looks.
func serving(*onejob.Jobs) bool {
	buf := make([]byte, 1<<20)
	return strings.Contains(string(buf[:runtime.Stack(buf, true)]), "(*waitRoom).run(")
}
