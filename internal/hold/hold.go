// Package hold keeps to a deadline whatever the called code does.
package hold

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoReturn is the error of code that panicked, or that ended its goroutine.
var ErrNoReturn = errors.New("the call did not return: it panicked or ended its goroutine")

type outcome[T any] struct {
	value    T
	err      error
	panicked any
}

// Call runs f in a goroutine of its own and returns what f returns, or once ctx
// has ended ctx's error. In that case f goes on, and late gets what it returns
// then; each outcome is told once, here or there. A panic of f goes on in the
// caller while it waits; later it is an error like ErrNoReturn, as runtime.Goexit
// always is.
func Call[T any](ctx context.Context, f func() (T, error), late func(T, error)) (value T, gone bool, err error) {
	answer, left := make(chan outcome[T]), make(chan struct{})
	go func() {
		var o outcome[T]
		// Deferred, so that it is told after runtime.Goexit too.
		defer func() {
			if o.panicked = recover(); o.panicked != nil {
				o.err = fmt.Errorf("%w: %T", ErrNoReturn, o.panicked)
			}
			select {
			case answer <- o:
			case <-left:
				late(o.value, o.err)
			}
		}()
		o.err = ErrNoReturn
		o.value, o.err = f()
	}()
	var o outcome[T]
	select {
	case o = <-answer:
	case <-ctx.Done():
		select {
		case o = <-answer: // both at once: knowledge first
		default:
			close(left)
			return value, true, ctx.Err()
		}
	}
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value, false, o.err
}
