package hold_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/hold"
)

var errSome = errors.New("some")

func never(t *testing.T) func(int, error) {
	return func(int, error) { t.Error("it was told twice") }
}

func TestTheAnswerIsReturned(t *testing.T) {
	t.Parallel()
	v, gone, err := hold.Call(t.Context(), func() (int, error) { return 7, errSome }, never(t))
	require.Equal(t, 7, v)
	require.False(t, gone)
	require.ErrorIs(t, err, errSome)
}

func TestTheDeadlineIsKeptAndTheAnswerIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	release, told := make(chan struct{}), make(chan int)
	v, gone, err := hold.Call(ctx, func() (int, error) { <-release; return 7, nil }, func(v int, _ error) { told <- v })
	require.Zero(t, v)
	require.True(t, gone)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(release)
	require.Equal(t, 7, <-told)
}

// Each outcome is told once, whatever comes first.
func TestEachOutcomeIsToldOnce(t *testing.T) {
	t.Parallel()
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		var told atomic.Int32
		late := make(chan struct{})
		go cancel()
		_, gone, _ := hold.Call(ctx, func() (int, error) { runtime.Gosched(); return 7, nil }, func(int, error) { told.Add(1); close(late) })
		if gone {
			<-late
		}
		require.Equal(t, gone, told.Load() == 1)
	}
}

func TestAPanicGoesOnInTheCaller(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "boom", func() {
		_, _, _ = hold.Call(t.Context(), func() (int, error) { panic("boom") }, never(t))
	})
	_, gone, err := hold.Call(t.Context(), func() (int, error) { runtime.Goexit(); return 0, nil }, never(t))
	require.False(t, gone)
	require.ErrorIs(t, err, hold.ErrNoReturn)
}

func TestALatePanicIsAnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release, told := make(chan struct{}), make(chan error)
	cancel()
	_, gone, _ := hold.Call(ctx, func() (int, error) { <-release; panic("boom") }, func(_ int, err error) { told <- err })
	require.True(t, gone)
	close(release)
	err := <-told
	require.ErrorIs(t, err, hold.ErrNoReturn)
	require.NotContains(t, err.Error(), "boom", "it may quote what must not be logged")
}
