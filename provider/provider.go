// Package provider says what the world beyond the host looks like to packages
// contract and failover: routes that are called once per attempt, and that may
// be asked afterwards what became of a call.
//
// Package wire sends requests of net/http in the way that this asks for, and
// package chat is a ready adapter for language models.
package provider

import (
	"context"

	"github.com/onejob-go/onejob"
)

// Provider is one route to an answer. One Call is one request on the wire: an
// adapter switches off its client's own retries, which hide a second execution
// from everybody. It must be safe for use by many goroutines.
type Provider interface {
	// Route says who this is. It is the same each time.
	Route() Route
	// Call asks once, under ctx. A zero Reply, also beside an error, says that
	// nobody knows what happened: the job blocks until somebody does. The error
	// is kept as the attempt's cause, so it must not quote params or outputs.
	Call(ctx context.Context, r Request) (Reply, error)
}

// Route is who a provider is.
type Route struct {
	// Name is what attempts carry as their provider: 1 to 63 bytes.
	Name string
	// Model is who must answer, 1 to 255 bytes. A service without models names
	// what stands for one, such as the version of its API.
	Model string
	// Revision names all that the adapter adds: prompts, sampling, limits. What
	// was proven under one revision counts for that one alone.
	Revision string
}

// Request is what is asked.
type Request struct {
	// Job has the params and, outside of qualifying, the job's identity.
	Job onejob.Job
	// Attempt has ProviderKey, to be sent as the idempotency key to a provider
	// that deduplicates, and for a [Resolver] the handle in ExternalRef.
	Attempt onejob.Attempt
	// Fresh asks for an answer from no cache, at the lowest variance that the
	// provider accepts: what it answers now is to be proof.
	Fresh bool
	// Handle keeps the provider's own handle of this call on the attempt, before
	// the answer is there: call it as soon as the handle is known. It is never
	// nil. Its error means that the handle was not kept; the call goes on.
	Handle func(ctx context.Context, ref string) error
}

// Reply is what a provider said.
type Reply struct {
	Verdict Verdict
	// Output is the result where the verdict is Done.
	Output []byte
	// Model is who answered, as the provider tells it. Another one than
	// Route.Model means that the output is discarded; empty: it tells nothing. An
	// adapter puts Route.Model here for other names of the same model.
	Model string
	// Ref is the provider's handle, up to 255 bytes. It is kept on the attempt
	// also where the verdict is Unknown.
	Ref string
	// Cut says that the provider stopped before the end, for a limit of length.
	Cut bool
	// Refusal says that Output is the provider's final no (content refused, card
	// declined). It is the answer: it completes the job and no contract is
	// asked. An adapter whose host wants the next target instead says Failed.
	Refusal bool
}

// Verdict is what is known about a call.
type Verdict int

// Unknown is the zero value: doubt is the default.
const (
	// Unknown: it may have taken effect. The job blocks.
	Unknown Verdict = iota
	// Done: the output is final.
	Done
	// NotStarted: it provably was never accepted. The next target may be asked.
	NotStarted
	// Failed: it was accepted and has ended, and no output will ever come. The
	// next target may be asked.
	Failed
)

// String names the verdict.
func (v Verdict) String() string {
	switch v {
	case Done:
		return "done"
	case NotStarted:
		return "not started"
	case Failed:
		return "failed"
	}
	return "unknown"
}
