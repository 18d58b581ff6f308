// Package onejob gives every user intent one durable identity, so that a
// double click, a retry or a fallback can never execute it twice by accident.
//
// A [Job] is the record of what a user wants, unique by owner and idempotency
// key. An [Attempt] is one try at it by one provider. At most one attempt may
// be open (running, or of unknown fate) at a time, and at most one result is
// ever kept: results are written by compare-and-swap, and whoever comes second
// learns that it lost and to whom.
//
// The whole way in one call is [Jobs.Do]. The steps by themselves are
// [Jobs.Create], [Jobs.BeginAttempt] and [Jobs.Complete].
//
// A timeout is never a failure: an attempt that may have taken effect is
// unknown, and it blocks its job until somebody knows ([Jobs.Complete],
// [Jobs.Fail] with proof) or decides ([Operator]). Time alone never ends a
// doubt.
//
// onejob is a library. The database decides, through constraints and
// compare-and-swap, so any number of processes may share it: see
// [NewPostgresStore] and [OpenSQLite].
package onejob

import (
	"log/slog"
	"time"
)

// JobID names a job: a UUID of version 7 in its usual lower-case spelling.
// Anything else names no job: it is answered with ErrNotFound without asking
// the database.
type JobID string

// Intent is what a user wants. Kind, Target, Params and Scope make up its
// fingerprint: two calls with the same owner and key must agree on them.
//
// Owner, Key, Kind and Target are valid UTF-8 without control characters,
// kept and compared byte for byte: nothing is trimmed or folded.
type Intent struct {
	// Owner says whose key space it is: a user, a team, a service. Required,
	// 1 to 128 bytes. Two owners never see each other's jobs.
	Owner string
	// Key is the client's idempotency key, unique per owner for the life of
	// the row. Required, 1 to 255 bytes.
	Key string
	// Kind says what is to be done, such as "charge". Required, 1 to 63 bytes.
	Kind string
	// Target is the one provider the user asked for, up to 63 bytes. Leave it
	// empty where a fallback may serve: then a click on "use the fallback"
	// with the same key finds the same job. It only counts as part of the input:
	// nothing compares it with Try.Provider.
	Target string
	// Params is the input as JSON, stored exactly as given. Nil and empty are
	// the same and mean no input; JSON null does not. Up to Options.MaxParams.
	// For the fingerprint white space and the order of names do not count, the
	// spelling of numbers does.
	Params []byte
	// Opaque says that Params are plain bytes and not JSON.
	Opaque bool
	// Scope is digested and not stored: method, path and the like, where the
	// transport is part of the intent.
	Scope []string
}

// JobState is where a job stands. Completed and canceled are final.
type JobState string

// The states of a job.
const (
	JobOpen      JobState = "open"      // not decided yet
	JobCompleted JobState = "completed" // one winner, one result
	JobCanceled  JobState = "canceled"  // withdrawn: nothing can win any more
)

// Status is what a person sees of a job: its state, and the state of the
// attempt that blocks it.
type Status string

// The statuses of a job.
const (
	StatusPending   Status = "pending"   // nothing is under way: an attempt may begin
	StatusRunning   Status = "running"   // an attempt is under way
	StatusUnknown   Status = "unknown"   // an attempt may or may not have taken effect: blocked
	StatusCompleted Status = "completed" // done: the result is there
	StatusCanceled  Status = "canceled"  // withdrawn
)

// Job is the durable record of an intent as it stood when it was read. It is
// written once and completed at most once. Printed or logged it shows IDs,
// states and sizes; encoding/json shows all of it.
type Job struct {
	ID JobID
	// Intent is as it was first stored. Scope is not stored and stays nil, and
	// Params are nil once purged.
	Intent
	State JobState
	// Version starts at 1 and rises by one with each change of the job's row.
	Version int64
	// Attempt is the open attempt, or the winner once the job is completed.
	// Nil on an open job means that an attempt may begin.
	Attempt *Attempt
	// Result is the winner's: nil until the job is completed, and nil again
	// once it was purged. An empty result is empty and not nil.
	Result    []byte
	CreatedAt time.Time
	EndedAt   time.Time // zero while open
	PurgedAt  time.Time // zero until Operator.Purge dropped the payloads
	Decision            // who canceled the job, and why
}

// Status tells what a person sees of the job. It is computed from what was
// read with the job in one statement, and an attempt past its deadline counts
// as unknown whether or not it was swept. Of a Job without an ID, as it comes
// beside ErrUnavailable, nothing is known: the status is empty.
func (j Job) Status() Status {
	switch {
	case j.ID == "":
		return ""
	case j.State == JobCompleted:
		return StatusCompleted
	case j.State == JobCanceled:
		return StatusCanceled
	case j.Attempt == nil:
		return StatusPending
	case j.Attempt.State == StateUnknown:
		return StatusUnknown
	default:
		return StatusRunning
	}
}

// Decision is an operator's explicit word: a name and a reason, both required
// where one is asked for. By has up to 128 bytes; Reason is cut at 4 KiB.
type Decision struct{ By, Reason string }

// String shows the kind and the size of the intent: never the owner, the key
// or the params.
func (in Intent) String() string { return logText(in.logAttrs()) }

// GoString is String, so that %#v shows no more.
func (in Intent) GoString() string { return in.String() }

// LogValue shows what String shows.
func (in Intent) LogValue() slog.Value { return slog.GroupValue(in.logAttrs()...) }

// String shows IDs, states and sizes: never the owner, the key, the params or
// the result.
func (j Job) String() string { return logText(j.logAttrs()) }

// GoString is String, so that %#v shows no more.
func (j Job) GoString() string { return j.String() }

// LogValue shows what String shows.
func (j Job) LogValue() slog.Value { return slog.GroupValue(j.logAttrs()...) }

func (in Intent) logAttrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", in.Kind)}
	if in.Target != "" {
		attrs = append(attrs, slog.String("target", in.Target))
	}
	return append(attrs, slog.Int("params_size", len(in.Params)))
}

func (j Job) logAttrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("id", string(j.ID)),
		slog.String("status", string(j.Status())),
		slog.Int64("version", j.Version),
	}
	if j.Attempt != nil {
		attrs = append(attrs, slog.String("attempt", string(j.Attempt.ID)))
	}
	return append(append(attrs, j.Intent.logAttrs()...), slog.Int("result_size", len(j.Result)))
}
