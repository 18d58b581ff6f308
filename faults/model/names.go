package model

import (
	"errors"
	"slices"
	"strings"

	"github.com/onejob-go/onejob"
)

// The errors that the test itself brings in.
var (
	ErrHook = errors.New("the hook refuses")
	ErrHost = errors.New("the host's function refuses")
	ErrCall = errors.New("the call fails")
)

var sentinels = map[string]error{
	"Invalid": onejob.ErrInvalid, "NotFound": onejob.ErrNotFound, "KeyConflict": onejob.ErrKeyConflict,
	"KeyRetired": onejob.ErrKeyRetired, "AttemptOpen": onejob.ErrAttemptOpen, "InDoubt": onejob.ErrInDoubt,
	"Failed": onejob.ErrFailed, "Completed": onejob.ErrCompleted, "JobCanceled": onejob.ErrJobCanceled,
	"TooManyAttempts": onejob.ErrTooManyAttempts, "NotQualified": onejob.ErrNotQualified,
	"LateResult": onejob.ErrLateResult, "ResultMismatch": onejob.ErrResultMismatch,
	"AttemptEnded": onejob.ErrAttemptEnded, "RetryTx": onejob.ErrRetryTx, "Unsupported": onejob.ErrUnsupported,
	"Unavailable": onejob.ErrUnavailable,
	"hook":        ErrHook, "host": ErrHost, "call": ErrCall,
}

var sorted = func() []string {
	var names []string
	for name := range sentinels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// Names says which of all sentinels hold of any of the errors, "" for no error.
func Names(errs ...error) string {
	var held []string
	for _, name := range sorted {
		if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, sentinels[name]) }) {
			held = append(held, name)
		}
	}
	if len(held) == 0 && errors.Join(errs...) != nil {
		held = []string{"other: " + errors.Join(errs...).Error()}
	}
	return strings.Join(held, " ")
}
