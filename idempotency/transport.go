package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// Transport is the way out: a RoundTripper under which a handler's or a worker's
// requests carry the attempt's identity to those providers that deduplicate. It
// finds the attempt in the request's context: see [Layer.Wrap] and [WithAttempt].
//
// It also keeps net/http from sending such a request twice by itself: a POST with
// a header Idempotency-Key, whose kept connection closes without an answer, is
// sent again otherwise, and the caller sees no error. (A request without a body
// so goes out in chunks.)
type Transport struct {
	// Base is what sends. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Deduplicates tells which requests go to a provider that promises to
	// deduplicate by the header. To others no key is sent, not even the client's
	// own: one that takes it for something else, or forgets it, would make it a
	// lie. Nil: none does.
	Deduplicates func(r *http.Request) bool
	// Header takes the key. Default: Idempotency-Key.
	Header string
	// Ref is the response header with the provider's handle, such as
	// "Request-Id"; with Jobs the first one that a request with a key brings is
	// kept on the attempt, so that a doubt can be looked up. Empty keeps none.
	Ref  string
	Jobs *onejob.Jobs
	// Internal tells which requests go to services of the same house: they get
	// the header Onejob-Job with the job's ID, and no others do. Who receives it
	// must not trust it from outside. Nil: none.
	Internal func(r *http.Request) bool
	// Logger hears of handles that could not be kept; nil is silence.
	Logger *slog.Logger
}

// jobHeader names the job between the services of one house.
const jobHeader = "Onejob-Job"

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	id := identityOf(r.Context())
	stamped := id != nil && id.attempt.ID != "" && t.Deduplicates != nil && t.Deduplicates(r)
	internal := id != nil && t.Internal != nil && t.Internal(r)
	r = r.Clone(r.Context()) // a RoundTripper does not change its request
	if r.Header == nil {
		r.Header = http.Header{}
	}
	name := t.Header
	if name == "" {
		name = keyHeader
	}
	if id != nil {
		t.stopClientsKey(r, id.job.Key)
		r.Header.Del(jobHeader)
	}
	if stamped && len(r.Header.Values(name)) == 0 {
		r.Header.Set(name, StepKey(r.Context(), id.attempt))
	}
	if internal {
		r.Header.Set(jobHeader, string(id.job.ID))
	}
	if carriesKey(r) {
		r.GetBody = nil
		if r.Body == nil || r.Body == http.NoBody {
			r.Body, r.ContentLength = io.NopCloser(nothing{}), 0
		}
	}
	resp, err := t.base().RoundTrip(r)
	if err == nil && stamped && resp.StatusCode < 300 {
		t.keepRef(r.Context(), id.attempt, resp.Header.Get(t.Ref))
	}
	return resp, err
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// CloseIdleConnections closes those of Base, if it can.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// stopClientsKey takes the key out with which the client has come, as a proxy
// would pass it on: keys are each owner's own, and another attempt at the job may
// need another answer.
func (t *Transport) stopClientsKey(r *http.Request, key string) {
	for _, name := range []string{keyHeader, "X-" + keyHeader} {
		for _, value := range r.Header.Values(name) {
			if k, err := parseKey(value, false); key != "" && (value == key || err == nil && k == key) {
				r.Header.Del(name)
				break
			}
		}
	}
}

// refTime bounds what keeping a handle may take: the answer is there, and the
// caller waits for it.
const refTime = 2 * time.Second

func (t *Transport) keepRef(ctx context.Context, a onejob.Attempt, ref string) {
	if ref == "" || t.Ref == "" || t.Jobs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refTime)
	defer cancel()
	if _, err := t.Jobs.SetExternalRef(ctx, a, ref); err != nil && t.Logger != nil {
		t.Logger.Warn("onejob: a provider's handle was not kept", "attempt", string(a.ID), "error", err.Error())
	}
}

// carriesKey reports whether net/http would take the request for one that may
// be sent again: it looks whether the header is there, not what is in it.
func carriesKey(r *http.Request) bool {
	_, key := r.Header[keyHeader]
	_, other := r.Header["X-"+keyHeader]
	return key || other
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

type stepKey struct{}

// WithStep names one of several calls that an attempt makes to one provider, so
// that each has a key of its own: without it the provider would answer the second
// with what it remembers of the first. The same step has the same key in each
// attempt whose ProviderKey is the same.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// StepKey is the key that [Transport] sends under a context: the attempt's
// ProviderKey, or what is derived from it for a step. Whoever looks up what
// became of a step asks the provider for this.
func StepKey(ctx context.Context, a onejob.Attempt) string {
	step, _ := ctx.Value(stepKey{}).(string)
	if step == "" {
		return a.ProviderKey
	}
	sum := sha256.Sum256([]byte(a.ProviderKey + "\n" + step))
	return hex.EncodeToString(sum[:16])
}
