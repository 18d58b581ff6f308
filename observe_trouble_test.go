package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Wherever the host's code panics, what is told must not look like a success.
func TestAnObserverHearsOfEveryPanic(t *testing.T) {
	t.Parallel()
	e := &ear{}
	broken := false
	jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Observer: e,
		NewID: func() string {
			if broken {
				panic("the host's")
			}
			return uuid.Must(uuid.NewV7()).String()
		},
		OnComplete: func(context.Context, *sql.Tx, onejob.Job) error { panic("the host's") }})
	require.PanicsWithValue(t, "the host's", func() {
		_, _ = jobs.Do(t.Context(), intentOf("do"), hourTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return []byte("r"), nil
		})
	})
	require.ErrorContains(t, e.last(t, "Do").Err, "did not return")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = jobs.Do(context.Background(), intentOf("goexit"), hourTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			runtime.Goexit()
			return nil, nil
		})
	}()
	<-done
	require.ErrorContains(t, e.last(t, "Do").Err, "did not return")
	_, a, err := jobs.Start(t.Context(), intentOf("cause"), hourTry)
	require.NoError(t, err)
	require.Panics(t, func() { _, _ = jobs.Fail(t.Context(), a, panicking{}) })
	require.ErrorContains(t, e.last(t, "Fail").Err, "did not return")
	broken = true
	require.Panics(t, func() { _, _, _ = jobs.Create(t.Context(), intentOf("id")) })
	require.ErrorContains(t, e.last(t, "Create").Err, "did not return")
}

type panicking struct{}

func (panicking) Error() string { panic("the host's") }

// deafened is a store that applies a step and loses its answer, once.
type deafened struct {
	*onejob.SQLiteStore
	lose   bool // the next answer
	refuse bool // the next Complete, before anything is sent
}

func (s *deafened) lost(err error) error {
	if err == nil && s.lose {
		s.lose = false
		return errors.New("the answer was lost")
	}
	return err
}

func (s *deafened) Create(ctx context.Context, p onejob.CreateParams) (onejob.Record, error) {
	rec, err := s.SQLiteStore.Create(ctx, p)
	return rec, s.lost(err)
}

func (s *deafened) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	rec, ok, err := s.SQLiteStore.Start(ctx, p, try)
	return rec, ok, s.lost(err)
}

func (s *deafened) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	rec, ok, err := s.SQLiteStore.Begin(ctx, p)
	return rec, ok, s.lost(err)
}

func (s *deafened) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	if s.refuse {
		s.refuse = false
		return onejob.Record{}, false, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	rec, ok, err := s.SQLiteStore.Complete(ctx, p)
	return rec, ok, s.lost(err)
}

func (s *deafened) Settle(ctx context.Context, p onejob.SettleParams) (onejob.Record, bool, error) {
	rec, ok, err := s.SQLiteStore.Settle(ctx, p)
	return rec, ok, s.lost(err)
}

// In an outage of all times the counts must not be short of what was done.
func TestAnObserverHearsOfWorkWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	e := &ear{}
	s := &deafened{SQLiteStore: dbtest.SQLite(t)}
	jobs := onejob.New(s, &onejob.Options{Observer: e})
	ctx := t.Context()
	s.lose = true
	job, created, err := jobs.Create(ctx, intentOf("create"))
	require.NoError(t, err)
	require.True(t, created)
	require.True(t, e.last(t, "Create").Created)

	s.lose = true
	a, err := jobs.BeginAttempt(ctx, job, hourTry)
	require.NoError(t, err)
	require.True(t, e.last(t, "BeginAttempt").Changed)

	s.lose = true
	_, err = jobs.Complete(ctx, a, nil)
	require.NoError(t, err)
	o := e.last(t, "Complete")
	require.True(t, o.Changed)
	require.Equal(t, onejob.StateSucceeded, o.Attempt.State)

	s.lose = true
	_, b, err := jobs.Start(ctx, intentOf("start"), hourTry)
	require.NoError(t, err)
	o = e.last(t, "Start")
	require.True(t, o.Created)
	require.True(t, o.Changed)
	again := hourTry
	again.ID = b.ID
	_, _, err = jobs.Start(ctx, intentOf("start"), again)
	require.NoError(t, err)
	o = e.last(t, "Start")
	require.False(t, o.Created || o.Changed, "the caller's own repeat: an earlier call did it")

	s.lose = true
	_, err = jobs.Fail(ctx, b, onejob.NoEffect(errors.New("no")))
	require.NoError(t, err)
	require.True(t, e.last(t, "Fail").Changed)

	// A decision too; and who repeats it after that has changed nothing.
	op := onejob.NewOperator(jobs)
	_, c, err := jobs.Start(ctx, intentOf("decided"), hourTry)
	require.NoError(t, err)
	for _, lose := range []bool{true, false} {
		s.lose = lose
		_, err = op.CancelAttempt(ctx, c.ID, lockWord)
		require.NoError(t, err)
		require.Equal(t, lose, e.last(t, "CancelAttempt").Changed)
	}
	// What never left is not this call's doing.
	s.refuse = true
	_, err = jobs.Complete(ctx, a, nil)
	require.NoError(t, err)
	require.False(t, e.last(t, "Complete").Changed, "it was completed long ago")
	// With an ID of the caller's, that the job is there proves nothing.
	_, d, err := jobs.Start(ctx, intentOf("own ID"), hourTry)
	require.NoError(t, err)
	_, err = jobs.Fail(ctx, d, onejob.NoEffect(errors.New("no")))
	require.NoError(t, err)
	fresh := hourTry
	fresh.ID = d.ID[:len(d.ID)-16] + "0123456789abcdef"
	_, _, err = jobs.Start(ctx, intentOf("own ID"), fresh)
	require.NoError(t, err)
	o = e.last(t, "Start")
	require.False(t, o.Created)
	require.True(t, o.Changed)
}

// later reads what it heard on another goroutine, as exporters do, while the
// caller and the library go on with theirs.
type later struct{ heard chan onejob.Observation }

func (l later) Observe(ctx context.Context, _ string) (context.Context, func(onejob.Observation)) {
	return ctx, func(o onejob.Observation) { l.heard <- o }
}

// The race detector looks here.
func TestAnObserverMayReadLater(t *testing.T) {
	t.Parallel()
	l := later{make(chan onejob.Observation, 100)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for o := range l.heard {
			var e *onejob.Error
			if errors.As(o.Err, &e) {
				_ = e.Error()
			}
			if o.Job.Attempt != nil {
				_ = o.Job.Attempt.Cause
			}
			if o.Attempt != nil {
				_ = o.Attempt.Cause
			}
		}
	}()
	jobs := onejob.New(dbtest.SQLite(t), &onejob.Options{Observer: l, MaxResult: 1})
	op := onejob.NewOperator(jobs)
	for _, key := range []string{"a", "b", "c"} {
		var own onejob.AttemptID
		_, _ = jobs.Do(t.Context(), intentOf(key), hourTry, func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
			own = a.ID
			_, err := op.CancelAttempt(t.Context(), a.ID, lockWord)
			return nil, err // a late result: Do renames the error of Complete
		})
		job, a, err := jobs.GetAttempt(t.Context(), own)
		require.NoError(t, err)
		a.Cause = "mine"
		if job.Attempt != nil {
			job.Attempt.Cause = "mine"
		}
		_, b, err := jobs.Start(t.Context(), intentOf(key), onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(t, err)
		_, err = jobs.MarkUnknown(t.Context(), b, errors.New("EOF"))
		require.NoError(t, err)
		_, err = op.Reconcile(t.Context(), onejob.Filter{}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return []byte("over the limit"), nil
		})
		require.Error(t, err)
		_, err = jobs.BeginAttempt(t.Context(), onejob.Job{ID: b.JobID, Intent: intentOf(key)}, hourTry)
		var e *onejob.Error
		require.ErrorAs(t, err, &e)
		e.Job, e.Op, e.Attempt.Cause = onejob.Job{}, "mine", "mine"
		job, _, err = op.Get(t.Context(), b.JobID)
		require.NoError(t, err)
		job.Attempt.Cause = "mine"
	}
	close(l.heard)
	<-read
}
