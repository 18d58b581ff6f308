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

// proof is how well an error proves that nothing happened.
type proof int

const (
	noProof   proof = iota // the default: it may have happened
	dialProof              // a name did not resolve, or a connection was not made
	markProof              // the host's own mark
)

// proofIn looks for the proof. Doubt is the default: a timeout, a reset, EOF, a
// 500, an HTTP/2 stream error or a text that nobody can classify may all come
// from a server that acted and then died.
func proofIn(err error) proof {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return noProof
	}
	return proofInTree(err)
}

// proofInTree walks down to the proof. Of errors that are joined each must
// prove it: a first try's EOF is not healed by a second one's refusal.
func proofInTree(err error) proof {
	switch e := err.(type) {
	case noEffectError:
		return markProof
	case *net.DNSError:
		return dialProof
	case *net.OpError:
		if e.Op == "dial" {
			return dialProof
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return proofInTree(e.Unwrap())
	case interface{ Unwrap() []error }:
		least := noProof
		for i, err := range e.Unwrap() {
			if p := proofInTree(err); i == 0 || p < least {
				least = p
			}
		}
		return least
	}
	return noProof
}

// proves reports whether err, of a call made under ctx, proves that nothing
// happened. A failure to dial does so only if nothing was sent before it.
func proves(ctx context.Context, err error) bool {
	switch proofIn(err) {
	case markProof:
		return true
	case dialProof:
		return !sentUnder(ctx)
	}
	return false
}
