package onejob

import (
	"errors"
	"strings"
)

// The refusals to branch on with errors.Is. Each comes wrapped in an [*Error]
// that carries the facts.
var (
	// ErrInvalid: the input breaks a limit, or contradicts what is stored under
	// the ID it names. Error.Field names it. Nothing was done, and what breaks a
	// limit was not even sent to the database.
	ErrInvalid = errors.New("invalid input")
	// ErrNotFound: no such job or attempt, or it belongs to another owner: the
	// answer is the same.
	ErrNotFound = errors.New("not found: no such job or attempt, or it is not this owner's")
	// ErrKeyConflict: the key was used for other input. Error.Job is the job
	// that holds it. Use a new key for a new intent.
	ErrKeyConflict = errors.New("the key was used before with other input: use a new key for a new intent")
	// ErrKeyRetired: the job is over and its payloads were purged: it is not
	// executed again.
	ErrKeyRetired = errors.New("the key's job is over and was purged: it is not executed again")
	// ErrAttemptOpen: an earlier attempt is started or unknown. It is also
	// ErrInDoubt when it is unknown.
	ErrAttemptOpen = errors.New("an earlier attempt is open: wait for it or resolve it, start no other")
	// ErrInDoubt: an attempt may or may not have taken effect. Ask the
	// provider, or have an operator decide.
	ErrInDoubt = errors.New("an attempt may have taken effect: ask the provider or have an operator decide")
	// ErrFailed: the attempt of [Jobs.Do] failed with proof of no effect:
	// another may begin.
	ErrFailed = errors.New("the attempt failed without effect: another may begin")
	// ErrCompleted: the job is done. Error.Job holds the result.
	ErrCompleted = errors.New("the job is completed: use its result")
	// ErrJobCanceled: the intent was withdrawn.
	ErrJobCanceled = errors.New("the job was canceled: no attempt may begin")
	// ErrTooManyAttempts: the job used up Options.MaxAttempts. It stays open:
	// cancel it, or raise the limit.
	ErrTooManyAttempts = errors.New("the job has used up its attempts: cancel it, or raise Options.MaxAttempts")
	// ErrNotQualified: the provider has no current qualification of the kind
	// that Try.Require names. Error.Reason says why. Nothing was begun, and the
	// provider must not be called; Start has stored the job.
	ErrNotQualified = errors.New("the provider is not qualified: let it prove that it keeps the contract, or use another")
	// ErrLateResult: this attempt can no longer win. Its result was thrown
	// away whole; Error.Job is the job as it stands, which need not be
	// completed: the attempt may have been canceled or refuted. What it did may
	// have to be undone before another attempt does it again.
	ErrLateResult = errors.New("the attempt can no longer win: its result was dropped, use the job as it stands")
	// ErrResultMismatch: the winner repeated Complete with another result. The
	// stored one stands.
	ErrResultMismatch = errors.New("the attempt has won with another result: the stored one stands")
	// ErrAttemptEnded: the attempt is no longer in a state that allows this.
	// Error.Attempt tells which it is in.
	ErrAttemptEnded = errors.New("the attempt has ended or no longer counts as under way")
	// ErrRetryTx: the host's transaction lost a race in the database. Roll it
	// back and run it again.
	ErrRetryTx = errors.New("the transaction lost a race in the database: roll it back and run it again")
	// ErrUnsupported: the store lacks the ability, or its schema is older than this
	// program or not whole: the text says which, and what to run.
	ErrUnsupported = errors.New("the store does not support this")
	// ErrUnavailable: the database could not be asked, or its answer was lost,
	// so the operation may or may not have been applied. Every operation is
	// safe to repeat; BeginAttempt and Start with Try.ID set to
	// Error.Attempt.ID, which is there. A plain repeat of them is safe too, but
	// may find its own attempt in the way, until the deadline and after it.
	ErrUnavailable = errors.New("the store gave no answer: the operation may have been applied, repeat it")
)

// Error is a refusal with the facts its caller needs next. Its text holds
// IDs, states and sizes: never a key, an owner, params or a result.
type Error struct {
	// Op is the operation that was refused, such as "BeginAttempt".
	Op string
	// Err is one of the sentinels of this package, or says that OnComplete
	// refused, with its error as Cause.
	Err error
	// Job is the job as it stands, with its result once completed. Its ID is
	// empty where no job is known.
	Job Job
	// Attempt is the one in the way, or the winner, or the one asked about, or
	// the one whose fate is not known.
	Attempt *Attempt
	// Field names what is wrong with the input (ErrInvalid).
	Field string
	// Reason says why the provider is not qualified (ErrNotQualified): "missing",
	// "failed", "expired", "changed" or "revoked".
	Reason string
	// Cause is what lies beneath: an error of the database, of a context or of
	// a call. A driver's own text may quote values: do not log it.
	Cause error

	rule  string    // what the field must be, for the text
	self  AttemptID // the attempt that lost, for the text
	next  string    // what to do, where the sentinel does not say all of it
	hosts bool      // Cause is of the host's own statements
}

// errRefused: OnComplete returned an error.
var errRefused = errors.New("OnComplete refused: the completion was undone, the attempt stands as it was")

// Error tells what was refused and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("onejob: ")
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	if e.Job.ID != "" {
		b.WriteString("job " + string(e.Job.ID) + " (" + string(e.Job.Status()) + "): ")
	}
	switch {
	case e.Err == ErrAttemptOpen && errors.Is(e, ErrInDoubt):
		b.WriteString("an earlier attempt is in the way: " + ErrInDoubt.Error())
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field + " " + e.rule)
	}
	if e.Reason != "" {
		b.WriteString("; its qualification is " + e.Reason)
	}
	if e.self != "" {
		b.WriteString("; late is attempt " + string(e.self))
	}
	if e.Attempt != nil {
		b.WriteString("; attempt " + string(e.Attempt.ID))
		if e.Attempt.State == StateSucceeded {
			b.WriteString(" has won")
		} else if e.Attempt.State != "" {
			b.WriteString(" is " + string(e.Attempt.State))
		}
	}
	if e.next != "" {
		b.WriteString("; " + e.next)
	}
	if cause := e.Cause; cause != nil {
		var own *Error
		if e.next != "" && errors.As(cause, &own) && own.Cause != nil {
			cause = own.Cause // what a step of it told to do is not what to do now
		}
		b.WriteString("; " + textOf(cause, !e.hosts && e.Err != errRefused))
	}
	return b.String()
}

// Unwrap returns the sentinels that hold, and the cause. What the cause says in
// this package's own words stays hidden: errors.Is must not take what was said
// of another job, or of another step, for what is said of this one.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 3)
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Err == ErrAttemptOpen && e.Attempt != nil && e.Attempt.State == StateUnknown {
		errs = append(errs, ErrInDoubt)
	}
	if e.Cause != nil {
		errs = append(errs, foreignError{e.Cause})
	}
	return errs
}

// foreignError is a cause without this package's own words.
type foreignError struct{ error }

// Is implements errors.Is.
func (e foreignError) Is(target error) bool {
	for _, own := range sentinels {
		if target == own {
			return false
		}
	}
	return errors.Is(e.error, target)
}

// As implements errors.As.
func (e foreignError) As(target any) bool {
	if _, own := target.(**Error); own {
		return false
	}
	return errors.As(e.error, target)
}

var sentinels = []error{
	ErrInvalid, ErrNotFound, ErrKeyConflict, ErrKeyRetired, ErrAttemptOpen, ErrInDoubt, ErrFailed, ErrCompleted,
	ErrJobCanceled, ErrTooManyAttempts, ErrNotQualified, ErrLateResult, ErrResultMismatch, ErrAttemptEnded,
	ErrRetryTx, ErrUnsupported, ErrUnavailable,
}

// invalid makes the one error of bad input.
func invalid(field, rule string) error {
	return &Error{Err: ErrInvalid, Field: field, rule: rule}
}

// named sets the operation on an error that has none yet.
func named(op string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Op == "" {
		e.Op = op
	}
	return err
}
