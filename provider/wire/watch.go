// Package wire makes one attempt one request of net/http, and tells from what
// was seen on the wire what is known about it.
//
// [Sender.Send] does all of it. Who has an exchange of his own uses [Watch] and
// [Watched.Verdict].
package wire

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/onejob-go/onejob/provider"
)

// Watched counts what happened to the requests under one context.
type Watched struct {
	asked  atomic.Int32 // a connection was asked for
	got    atomic.Int32 // there was one, to write a request to
	before []int
	over   func() error // what ended the context, whatever cause it was given
}

// Watch returns a context under which the requests of net/http are watched.
// Use one for one exchange. BeforeWork are statuses that this provider, as it
// declares, sends only before it does any work, such as 400, or 503 from its
// load balancer; they are NotStarted too.
func Watch(ctx context.Context, beforeWork ...int) (context.Context, *Watched) {
	w := &Watched{before: beforeWork, over: ctx.Err}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Add(1) },
		// Not WroteHeaders: HTTP/2 may report that after the answer is there.
		GotConn: func(httptrace.GotConnInfo) { w.got.Add(1) },
	}), w
}

// Requests is how many requests had a connection to be written to. More than
// one means that net/http followed a redirect or sent again by itself.
func (w *Watched) Requests() int { return int(w.got.Load()) }

// Verdict tells what is known once the response is there, or the error. It
// looks at types, at the status and at what was written, never at texts:
//
//   - a 2xx is Done, once the caller has read the body to its end; where that
//     fails, it is Unknown;
//   - 401, 403, 404, 413, 422, 429 and the declared statuses are NotStarted, if
//     this was the one request that was sent;
//   - an error before there was any connection (resolving, dialing, TLS) is
//     NotStarted;
//   - all else is Unknown: a context or a time limit that ended, also before a
//     connection was there, a reset, a 5xx, a redirect, other 4xx.
//
// Who sends through a transport that does not report to httptrace gets Unknown
// for each error.
func (w *Watched) Verdict(resp *http.Response, err error) provider.Verdict {
	if err != nil || resp == nil {
		if w.asked.Load() > 0 && w.got.Load() == 0 && !ofContext(err) && w.over() == nil {
			return provider.NotStarted
		}
		return provider.Unknown
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return provider.Done
	}
	// An earlier request of the same exchange may have been accepted.
	if w.got.Load() == 1 && (refusals[resp.StatusCode] || w.declared(resp.StatusCode)) {
		return provider.NotStarted
	}
	return provider.Unknown
}

// refusals are the statuses that say "not accepted" whoever sends them.
var refusals = map[int]bool{
	http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusNotFound: true,
	http.StatusRequestEntityTooLarge: true, http.StatusUnprocessableEntity: true, http.StatusTooManyRequests: true,
}

func (w *Watched) declared(status int) bool {
	for _, s := range w.before {
		if s == status {
			return true
		}
	}
	return false
}

func ofContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
