package otelonejob

import (
	"context"
	"errors"

	"github.com/onejob-go/onejob"
)

// What an operation came to. A refusal is the library at work and no failure.
const (
	outcomeOK       = "ok"
	outcomeRefused  = "refused"
	outcomeCanceled = "canceled" // by the caller, whose context ended
	outcomeError    = "error"
)

// What error.type says where no sentinel of the library does.
const (
	typeCanceled   = "canceled"
	typeOnComplete = "on_complete"
	typeOther      = "other"
)

// classes are the sentinels, the first that holds counts. ErrAttemptOpen is also
// ErrInDoubt when a doubt is in the way, and that is the one to know.
var classes = []struct {
	err     error
	name    string
	outcome string
}{
	{onejob.ErrUnavailable, "unavailable", outcomeError},
	{onejob.ErrUnsupported, "unsupported", outcomeError},
	{onejob.ErrInDoubt, "in_doubt", outcomeRefused},
	{onejob.ErrAttemptOpen, "attempt_open", outcomeRefused},
	{onejob.ErrKeyConflict, "key_conflict", outcomeRefused},
	{onejob.ErrKeyRetired, "key_retired", outcomeRefused},
	{onejob.ErrFailed, "failed", outcomeRefused},
	{onejob.ErrCompleted, "completed", outcomeRefused},
	{onejob.ErrJobCanceled, "job_canceled", outcomeRefused},
	{onejob.ErrTooManyAttempts, "too_many_attempts", outcomeRefused},
	{onejob.ErrNotQualified, "not_qualified", outcomeRefused},
	{onejob.ErrLateResult, "late_result", outcomeRefused},
	{onejob.ErrResultMismatch, "result_mismatch", outcomeRefused},
	{onejob.ErrAttemptEnded, "attempt_ended", outcomeRefused},
	{onejob.ErrRetryTx, "retry_tx", outcomeRefused},
	{onejob.ErrNotFound, "not_found", outcomeRefused},
	{onejob.ErrInvalid, "invalid", outcomeRefused},
}

// heedless are the operations that go on when their caller leaves, so that its
// leaving explains nothing: what they could not store, the database did not take.
var heedless = map[string]bool{"Complete": true, "Fail": true, "MarkUnknown": true}

// classify tells what err counts as, and which error it is.
func classify(ctx context.Context, op string, err error) (outcome, errorType string) {
	if err == nil {
		return outcomeOK, ""
	}
	for _, c := range classes {
		if !errors.Is(err, c.err) {
			continue
		}
		// A client that hung up says nothing of the database. A deadline does: that
		// is how a database that does not answer shows.
		if c.err == onejob.ErrUnavailable && !heedless[op] && errors.Is(ctx.Err(), context.Canceled) {
			return outcomeCanceled, typeCanceled
		}
		return c.outcome, c.name
	}
	var e *onejob.Error
	switch {
	case errors.As(err, &e):
		return outcomeError, typeOnComplete // the one error of the library that is no sentinel
	case ctx.Err() != nil:
		return outcomeCanceled, typeCanceled // a Wait that ended without an answer
	default:
		return outcomeError, typeOther // of the host's own function
	}
}
