package onejob

import (
	"context"
	"errors"
	"net"
)

// NoEffect marks err as proof that nothing happened: the provider was never
// asked, or said itself that it did nothing. Only with such proof is an
// attempt failed and not unknown. It returns nil for nil.
//
// A context error anywhere in err outweighs the mark.
func NoEffect(err error) error {
	if err == nil {
		return nil
	}
	return noEffectError{err}
}

type noEffectError struct{ error }

func (e noEffectError) Unwrap() error { return e.error }

// proven reports whether err proves that nothing happened. Doubt is the
// default: a timeout, a reset, EOF, a 500, an HTTP/2 stream error or a text
// that nobody can classify may all come from a server that acted and then
// died.
func proven(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return provenTree(err)
}

// provenTree walks down to the proof: the host's mark, a name that did not
// resolve, a connection that was not made. Of errors that are joined each
// must prove it: a first try's EOF is not healed by a second one's refusal.
func provenTree(err error) bool {
	switch e := err.(type) {
	case noEffectError, *net.DNSError:
		return true
	case *net.OpError:
		if e.Op == "dial" {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap() != nil && provenTree(e.Unwrap())
	case interface{ Unwrap() []error }:
		errs := e.Unwrap()
		for _, err := range errs {
			if err != nil && !provenTree(err) {
				return false
			}
		}
		return len(errs) > 0
	}
	return false
}
