package provider

import (
	"context"
	"errors"
	"time"
)

// Resolver is for a provider that can be asked what became of a call, by its
// own handle (Attempt.ExternalRef) or by the key that was sent with it
// (Attempt.ProviderKey).
type Resolver interface {
	// Resolve looks and never executes. Unknown is an answer, with or without an
	// error: also where the attempt has no handle and no key was sent, for then
	// there is nothing to look for. NotStarted means that the provider has no trace
	// of the call, which proves something only once the request cannot arrive any
	// more: see failover.Config.Grace.
	Resolve(ctx context.Context, r Request) (Reply, error)
}

// KeySender is for a provider that can tell whether it sends Attempt.ProviderKey
// with each call.
type KeySender interface {
	// SendsKey reports whether it does.
	SendsKey() bool
}

// Replays is p with a Resolver that sends the call again, with the same key.
// Use it for a provider that keeps answers by key and returns the first one to
// whoever repeats it: what it answers then is what became of the call. The error
// is for a p that is no [KeySender], or sends no key (each repeat would be a
// second execution), and for a window that is not positive.
//
// DECLARE IT ONLY WHERE THE PROVIDER PROMISES SO, also for a key whose first
// call is still under way, and window shorter than it promises to keep keys: past
// that a repeat is a second execution. Nothing is sent more than window after the
// attempt began, measured between this process's clock and the store's: leave
// room for what they may differ.
//
// What a repeat is refused with (429, no connection) says nothing of the first
// call: only Done and Failed count.
func Replays(p Provider, window time.Duration) (Provider, error) {
	sender, ok := As[KeySender](p)
	switch {
	case !ok:
		return nil, errors.New("provider: Replays needs a provider that says that it sends keys: see KeySender")
	case !sender.SendsKey():
		return nil, errors.New("provider: Replays needs a provider that sends keys: name the header that takes them")
	case window <= 0:
		return nil, errors.New("provider: window must be positive")
	}
	return replays{p, window}, nil
}

type replays struct {
	Provider
	window time.Duration
}

// Unwrap is for [As].
func (r replays) Unwrap() Provider { return r.Provider }

var (
	errWindow = errors.New("the time is over in which the provider knows the key: ask it by other means")
	errAgain  = errors.New("the repeated call was not accepted, which says nothing of the first one")
	errNoKey  = errors.New("the attempt has no key to repeat")
)

// Resolve implements [Resolver].
func (r replays) Resolve(ctx context.Context, req Request) (Reply, error) {
	if req.Attempt.ProviderKey == "" {
		return Reply{}, errNoKey
	}
	end := req.Attempt.StartedAt.Add(r.window)
	if !time.Now().Before(end) {
		return Reply{}, errWindow
	}
	// A request that waits for a connection must not leave after the end.
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	reply, err := r.Call(ctx, req)
	if reply.Verdict == NotStarted {
		return Reply{Ref: reply.Ref}, errors.Join(errAgain, err)
	}
	return reply, err
}

// As finds in p, or in what it wraps, an ability T such as [Resolver]. A
// Provider that wraps another has a method Unwrap() Provider.
func As[T any](p Provider) (T, bool) {
	for p != nil {
		if t, ok := p.(T); ok {
			return t, true
		}
		w, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	var none T
	return none, false
}
