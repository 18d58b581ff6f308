package onejob

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// AttemptID names an attempt. It begins with its job's ID, so that one string
// addresses both: a webhook needs to carry nothing else.
type AttemptID string

// Job returns the ID of the attempt's job, or "" when the ID is malformed.
func (id AttemptID) Job() JobID {
	job, _ := id.split()
	return job
}

// State is where an attempt stands.
type State string

// The states of an attempt. Started and unknown are open: they block the next
// attempt. Succeeded, failed, canceled and late are final.
const (
	StateStarted   State = "started"   // under way, before its deadline
	StateUnknown   State = "unknown"   // may or may not have taken effect
	StateDetached  State = "detached"  // no longer blocking, still able to win
	StateSucceeded State = "succeeded" // the winner
	StateFailed    State = "failed"    // proven to have had no effect
	StateCanceled  State = "canceled"  // an operator's word: it shall not win
	StateLate      State = "late"      // its result came too late and was thrown away
)

// Open reports whether an attempt in this state blocks the next one.
func (s State) Open() bool { return s == StateStarted || s == StateUnknown }

// final reports whether the state never changes again.
func (s State) final() bool { return !s.Open() && s != StateDetached }

// Try says how an attempt is to be made.
type Try struct {
	// ID repeats an earlier call whose fate was not known (ErrUnavailable
	// carries the ID): the answer is then definite. Leave it empty otherwise.
	ID AttemptID
	// Provider says who is tried: the name of a route that the host chooses
	// (provider, model, settings). Required, 1 to 63 bytes.
	Provider string
	// Timeout is how long the attempt may take before its outcome counts as
	// unknown. Required and positive; kept in whole microseconds, rounded up.
	Timeout time.Duration
	// Require is the qualification that the attempt needs, in the statement that
	// begins it. Nil asks nothing. A store that keeps no qualifications refuses it
	// with ErrUnsupported.
	Require *Requirement
}

// Requirement names the qualification that an attempt needs of its provider.
type Requirement struct {
	Contract    string // the contract's name
	Model       string // what the provider runs
	Fingerprint string // of the contract, its cases and the adapter
}

// Attempt is one try at a job, as it stood when it was read. It travels by
// value: the version it carries is the fencing token that [Jobs.Complete]
// compares.
type Attempt struct {
	ID       AttemptID
	JobID    JobID
	Number   int // dense from 1 within the job
	Provider string
	// State is as of the store's clock: a started attempt past its deadline
	// reads as unknown.
	State State
	// JobVersion is the job's version when the attempt began.
	JobVersion int64
	// ProviderKey is what to send to the provider as its idempotency key: 32
	// hex digits, fixed when the attempt begins. It stays the same until an
	// attempt of this provider at this job has failed with proof.
	ProviderKey string
	// ExternalRef is the provider's own handle: see [Jobs.SetExternalRef].
	ExternalRef string
	// Timeout is what the attempt was given when it began, or by the last
	// Extend that moved its deadline.
	Timeout   time.Duration
	StartedAt time.Time
	Deadline  time.Time
	EndedAt   time.Time // zero until final
	// Cause is the text of the error that made it unknown or failed.
	Cause    string
	Decision // who ended or detached it from outside, and why
	// LateAt, LateSize and LateDigest are the evidence of a result that came
	// too late: when, how many bytes, and their SHA-256. Not one byte of the
	// result itself is kept. The first evidence stands; zero means none.
	LateAt     time.Time
	LateSize   int64
	LateDigest [32]byte
}

// Context returns the context to call the provider under. It keeps the values
// of parent and outlives its cancellation: a client that hangs up must not
// turn a running charge into a doubt. It ends when Timeout has passed since
// this call, by this process's clock.
//
// It also notices requests that net/http sends under it. Hand it to
// [Jobs.Fail]: a failure to dial then proves nothing if a request went out
// before.
func (a Attempt) Context(parent context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(watchSends(context.WithoutCancel(parent)), a.Timeout)
}

// String shows IDs, states and sizes only.
func (a Attempt) String() string { return logText(a.logAttrs()) }

// GoString is String, so that %#v shows no more.
func (a Attempt) GoString() string { return a.String() }

// LogValue shows what String shows.
func (a Attempt) LogValue() slog.Value { return slog.GroupValue(a.logAttrs()...) }

func (a Attempt) logAttrs() []slog.Attr {
	return []slog.Attr{
		slog.String("id", string(a.ID)),
		slog.Int("number", a.Number),
		slog.String("provider", a.Provider),
		slog.String("state", string(a.State)),
		slog.Int64("late_size", a.LateSize),
	}
}

func logText(attrs []slog.Attr) string {
	parts := make([]string, len(attrs))
	for i, a := range attrs {
		parts[i] = a.String()
	}
	return "{" + strings.Join(parts, " ") + "}"
}
