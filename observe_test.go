package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// heard is one operation as an observer heard of it.
type heard struct {
	op     string
	within string // the operation around it
	o      onejob.Observation
}

type ear struct {
	mu    sync.Mutex
	begun int
	list  []heard
}

type earKey struct{}

func (e *ear) Observe(ctx context.Context, op string) (context.Context, func(onejob.Observation)) {
	within, _ := ctx.Value(earKey{}).(string)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun++
	return context.WithValue(ctx, earKey{}, op), func(o onejob.Observation) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list = append(e.list, heard{op, within, o})
	}
}

// take returns what was heard since the last time.
func (e *ear) take(t *testing.T) []heard {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Len(t, e.list, e.begun, "an operation ended not at all or twice")
	list := e.list
	e.list, e.begun = nil, 0
	return list
}

func (e *ear) last(t *testing.T, op string) onejob.Observation {
	t.Helper()
	list := e.take(t)
	require.NotEmpty(t, list)
	require.Equal(t, op, list[len(list)-1].op)
	return list[len(list)-1].o
}

// onStores runs a test on both stores.
func onStores(t *testing.T, check func(t *testing.T, store onejob.Store)) {
	t.Run("postgres", func(t *testing.T) { t.Parallel(); check(t, dbtest.Postgres(t)) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); check(t, dbtest.SQLite(t)) })
}

func intentOf(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge"}
}

// notObserved are the methods that no observer hears of, and why.
var notObserved = map[string]string{
	"Operator.Attempts":       "it pages",
	"Operator.Qualifications": "it pages",
	"Operator.Doctor":         "it asks nothing of a job",
}

// What is added later must not be forgotten: each exported method is called
// with nothing in hand, and must be heard.
func TestAnObserverHearsOfEveryOperation(t *testing.T) {
	t.Parallel()
	e := &ear{}
	jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Observer: e})
	for name, of := range map[string]any{"": jobs, "Operator.": onejob.NewOperator(jobs)} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			method := name + v.Type().Method(i).Name
			if _, ok := notObserved[method]; ok {
				continue
			}
			typ := v.Method(i).Type()
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for n := 1; n < typ.NumIn(); n++ {
				args = append(args, reflect.Zero(typ.In(n)))
			}
			v.Method(i).Call(args)
			list := e.take(t)
			require.NotEmpty(t, list, "nobody heard of %s", method)
			op := v.Type().Method(i).Name
			if method == "Operator.Get" {
				op = method
			}
			require.Equal(t, op, list[len(list)-1].op)
		}
	}
}

func TestAnObserverHearsWhatBecameOfAnOperation(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store onejob.Store) {
		e := &ear{}
		jobs := onejob.New(store, &onejob.Options{Observer: e})
		op := onejob.NewOperator(jobs)
		ctx := t.Context()

		job, _, err := jobs.Create(ctx, intentOf("double"))
		require.NoError(t, err)
		o := e.last(t, "Create")
		require.True(t, o.Created)
		require.Equal(t, job.ID, o.Job.ID)
		_, _, err = jobs.Create(ctx, intentOf("double"))
		require.NoError(t, err)
		o = e.last(t, "Create")
		require.False(t, o.Created, "the second click")
		require.Equal(t, job.ID, o.Job.ID)
		other := intentOf("double")
		other.Params = []byte(`{"other":1}`)
		_, _, err = jobs.Create(ctx, other)
		o = e.last(t, "Create")
		require.ErrorIs(t, o.Err, onejob.ErrKeyConflict)
		require.Equal(t, err, o.Err)
		require.Equal(t, job.ID, o.Job.ID)

		a, err := jobs.BeginAttempt(ctx, job, hourTry)
		require.NoError(t, err)
		o = e.last(t, "BeginAttempt")
		require.True(t, o.Changed)
		require.Equal(t, a.ID, o.Attempt.ID)
		require.Equal(t, job.ID, o.Job.ID)
		again := hourTry
		again.ID = a.ID
		_, err = jobs.BeginAttempt(ctx, job, again)
		require.NoError(t, err)
		require.False(t, e.last(t, "BeginAttempt").Changed, "a repeat of one that had begun")
		_, err = jobs.BeginAttempt(ctx, job, hourTry)
		require.Error(t, err)
		o = e.last(t, "BeginAttempt")
		require.ErrorIs(t, o.Err, onejob.ErrAttemptOpen)
		require.False(t, o.Changed)
		require.Equal(t, a.ID, o.Attempt.ID, "the one in the way")

		_, err = jobs.MarkUnknown(ctx, a, errors.New("timeout"))
		require.NoError(t, err)
		o = e.last(t, "MarkUnknown")
		require.True(t, o.Changed)
		require.Equal(t, onejob.StateUnknown, o.Attempt.State)
		_, err = op.DetachAttempt(ctx, a.ID, lockWord)
		require.NoError(t, err)
		o = e.last(t, "DetachAttempt")
		require.True(t, o.Changed)
		require.Equal(t, onejob.StateDetached, o.Attempt.State)
		second, err := jobs.BeginAttempt(ctx, job, hourTry)
		require.NoError(t, err)
		e.take(t)
		_, err = jobs.Complete(ctx, second, []byte("r"))
		require.NoError(t, err)
		o = e.last(t, "Complete")
		require.True(t, o.Changed)
		require.Equal(t, second.ID, o.Attempt.ID)
		require.Equal(t, onejob.StateSucceeded, o.Attempt.State)
		_, err = jobs.Complete(ctx, second, []byte("r"))
		require.NoError(t, err)
		o = e.last(t, "Complete")
		require.False(t, o.Changed, "the winner's repeat")
		require.Equal(t, second.ID, o.Attempt.ID)
		_, err = jobs.Complete(ctx, a, []byte("late"))
		require.Error(t, err)
		o = e.last(t, "Complete")
		require.ErrorIs(t, o.Err, onejob.ErrLateResult)
		require.Equal(t, a.ID, o.Attempt.ID, "the loser, not the winner")
		require.Equal(t, onejob.StateLate, o.Attempt.State)
		require.Equal(t, second.ID, o.Job.Attempt.ID)
	})
}

func TestAnObserverHearsOfTheStepsOfDo(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store onejob.Store) {
		e := &ear{}
		jobs := onejob.New(store, &onejob.Options{Observer: e})
		answer := func(result []byte, err error) onejob.Call {
			return func(ctx context.Context, _ onejob.Job, _ onejob.Attempt) ([]byte, error) {
				require.Equal(t, "Do", ctx.Value(earKey{}), "the call is made under the operation's context")
				return result, err
			}
		}
		ops := func() (list []string) {
			for _, h := range e.take(t) {
				list = append(list, h.within+"/"+h.op)
			}
			return list
		}
		for range 2 {
			_, err := jobs.Do(t.Context(), intentOf("k"), hourTry, answer([]byte("r"), nil))
			require.NoError(t, err)
			got := ops()
			require.Equal(t, "Do/Start", got[0])
			require.Equal(t, "/Do", got[len(got)-1])
			if len(got) == 3 {
				require.Equal(t, "Do/Complete", got[1])
			}
		}
		_, err := jobs.Do(t.Context(), intentOf("fails"), hourTry, answer(nil, onejob.NoEffect(errors.New("no"))))
		require.ErrorIs(t, err, onejob.ErrFailed)
		list := e.take(t)
		require.Len(t, list, 3)
		require.Equal(t, "Fail", list[1].op)
		require.True(t, list[1].o.Changed)
		require.Equal(t, onejob.StateFailed, list[1].o.Attempt.State)
		require.True(t, list[0].o.Created)
		require.True(t, list[0].o.Changed)

		require.PanicsWithValue(t, "the host's", func() {
			_, _ = jobs.Do(t.Context(), intentOf("panics"), hourTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				panic("the host's")
			})
		})
		list = e.take(t)
		require.Equal(t, []string{"Start", "MarkUnknown", "Do"}, []string{list[0].op, list[1].op, list[2].op})
		require.ErrorContains(t, list[2].o.Err, "did not return")
	})
}

// A panic of the host's code within a transaction must not look like a success.
func TestAnObserverHearsOfAPanicOfTheHosts(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store onejob.Store) {
		e := &ear{}
		jobs := onejob.New(store, &onejob.Options{Observer: e,
			OnComplete: func(context.Context, *sql.Tx, onejob.Job) error { panic("the host's") }})
		_, a, err := jobs.Start(t.Context(), intentOf("k"), hourTry)
		require.NoError(t, err)
		require.Panics(t, func() { _, _ = jobs.Complete(t.Context(), a, nil) })
		require.ErrorContains(t, e.last(t, "Complete").Err, "did not return")
		require.Panics(t, func() {
			_ = jobs.Tx(t.Context(), func(context.Context, *sql.Tx) error { panic("the host's") })
		})
		require.ErrorContains(t, e.last(t, "Tx").Err, "did not return")
	})
}

func TestAnObserverHearsOfMany(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store onejob.Store) {
		e := &ear{}
		jobs := onejob.New(store, &onejob.Options{Observer: e})
		op := onejob.NewOperator(jobs)
		_, err := jobs.CreateMany(t.Context(), []onejob.Intent{intentOf("a"), intentOf("b"), intentOf("a"), {}})
		require.NoError(t, err)
		require.Equal(t, 2, e.last(t, "CreateMany").Count)
		short := onejob.Try{Provider: "primary", Timeout: time.Microsecond}
		_, a, err := jobs.Start(t.Context(), intentOf("c"), short)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			_, now, err := jobs.GetAttempt(t.Context(), a.ID)
			return err == nil && now.State == onejob.StateUnknown
		}, time.Minute, time.Millisecond)
		_, err = op.Sweep(t.Context(), 10)
		require.NoError(t, err)
		o := e.last(t, "Sweep")
		require.True(t, o.Changed)
		require.True(t, slices.ContainsFunc(o.Attempts, func(s onejob.Attempt) bool { return s.ID == a.ID }))
		_, err = op.CancelJob(t.Context(), a.JobID, lockWord)
		require.NoError(t, err)
		require.True(t, e.last(t, "CancelJob").Changed)
		_, err = op.Refute(t.Context(), a.ID, lockWord)
		require.NoError(t, err)
		e.take(t)
		n, err := op.Purge(t.Context(), onejob.Retention{Payloads: time.Microsecond}, 10)
		require.NoError(t, err)
		require.Equal(t, n, e.last(t, "Purge").Count)
		require.Equal(t, 1, n)
	})
}

// An observer that does not care for an operation must not get those within it
// mixed up, nor break it.
func TestAnObserverNeedNotCare(t *testing.T) {
	t.Parallel()
	jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Observer: deaf{}})
	_, err := jobs.Do(t.Context(), intentOf("k"), hourTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		return []byte("r"), nil
	})
	require.NoError(t, err)
	var heard []onejob.Observation
	jobs = onejob.New(dbtest.SQLite(t), &onejob.Options{Observer: deaf{func(o onejob.Observation) { heard = append(heard, o) }}})
	_, err = jobs.Do(t.Context(), intentOf("k"), hourTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		return nil, onejob.NoEffect(errors.New("no"))
	})
	require.ErrorIs(t, err, onejob.ErrFailed)
	require.Len(t, heard, 1)
	require.False(t, heard[0].Created || heard[0].Changed, "that was Start's and Fail's")
}

// deaf cares for Do alone, or for nothing.
type deaf struct{ do func(onejob.Observation) }

func (d deaf) Observe(ctx context.Context, op string) (context.Context, func(onejob.Observation)) {
	if op == "Do" {
		return ctx, d.do
	}
	return ctx, nil
}
