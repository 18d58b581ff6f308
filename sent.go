package onejob

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// A client may have sent a request before the dial that failed: net/http sends
// a POST again by itself when it carries an Idempotency-Key and its connection
// closed without an answer, it follows redirects, and a call may take two
// steps. The error is then "connection refused", and the provider has acted.
// So an attempt's context watches for requests. Package httptrace is how
// net/http reports them; it does not bring net/http with it.

type sentKey struct{}

// watchSends returns a context under which requests of net/http are noticed.
func watchSends(ctx context.Context) context.Context {
	sent := new(atomic.Bool)
	ctx = context.WithValue(ctx, sentKey{}, sent)
	// Not WroteHeaders: over HTTP/2 that may be reported after the answer came. A
	// request that got a connection may have been written; one whose own dial
	// failed got none.
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
}

// sentUnder reports whether a request was noticed under ctx.
func sentUnder(ctx context.Context) bool {
	sent, ok := ctx.Value(sentKey{}).(*atomic.Bool)
	return ok && sent.Load()
}
