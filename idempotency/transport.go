package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"

	"github.com/onejob-go/onejob"
)

// Transport is the way out: a RoundTripper under which a handler's or a worker's
// requests carry the attempt's identity to those providers that deduplicate. It
// finds the attempt in the request's context: see [Layer.Wrap] and [WithAttempt].
//
// It also keeps net/http from sending such a request twice by itself: a POST with
// a header Idempotency-Key, whose kept connection closes without an answer, is
// sent again otherwise, and the caller sees no error.
type Transport struct {
	// Base is what sends. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Deduplicates tells which requests go to a provider that promises to
	// deduplicate by the header. To others no key is sent: one that takes it for
	// something else, or forgets it, would make it a lie. Nil: none does.
	Deduplicates func(r *http.Request) bool
	// Header takes the key. Default: Idempotency-Key.
	Header string
	// Ref is the response header with the provider's handle, such as
	// "Request-Id"; with Jobs it is kept on the attempt, so that a doubt can be
	// looked up. Empty keeps none.
	Ref  string
	Jobs *onejob.Jobs
	// Internal tells which requests go to services of the same house: they get
	// the header Onejob-Job with the job's ID. Who receives it must not trust it
	// from outside. Nil: none.
	Internal func(r *http.Request) bool
}

// jobHeader names the job between the services of one house.
const jobHeader = "Onejob-Job"

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	a, ok := AttemptFrom(r.Context())
	name := t.Header
	if name == "" {
		name = keyHeader
	}
	stamps := ok && t.Deduplicates != nil && t.Deduplicates(r)
	if stamps || carriesKey(r) || ok && t.Internal != nil && t.Internal(r) {
		r = r.Clone(r.Context()) // a RoundTripper does not change its request
	}
	if stamps && len(r.Header.Values(name)) == 0 {
		r.Header.Set(name, downstreamKey(r.Context(), a))
	}
	if ok && t.Internal != nil && t.Internal(r) {
		r.Header.Set(jobHeader, string(a.JobID))
	}
	if carriesKey(r) {
		r.GetBody = nil
		if r.Body == nil || r.Body == http.NoBody {
			r.Body, r.ContentLength = io.NopCloser(nothing{}), 0
		}
	}
	resp, err := base.RoundTrip(r)
	if err == nil && ok && t.Ref != "" && t.Jobs != nil {
		if ref := resp.Header.Get(t.Ref); ref != "" {
			// What could not be kept does not undo the answer; the store says so in
			// its own terms.
			_, _ = t.Jobs.SetExternalRef(context.WithoutCancel(r.Context()), a, ref)
		}
	}
	return resp, err
}

// carriesKey reports whether net/http would take the request for one that may
// be sent again.
func carriesKey(r *http.Request) bool {
	return len(r.Header.Values(keyHeader))+len(r.Header.Values("X-"+keyHeader)) > 0
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

type stepKey struct{}

// WithStep names one of several calls that an attempt makes to one provider, so
// that each has a key of its own. The same step has the same key, in each try
// that may be the one before.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// downstreamKey is the attempt's ProviderKey, or one that is derived from it for
// a step.
func downstreamKey(ctx context.Context, a onejob.Attempt) string {
	step, _ := ctx.Value(stepKey{}).(string)
	if step == "" {
		return a.ProviderKey
	}
	sum := sha256.Sum256([]byte(a.ProviderKey + "\n" + step))
	return hex.EncodeToString(sum[:16])
}
