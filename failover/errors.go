package failover

import (
	"errors"
	"fmt"

	"github.com/onejob-go/onejob"
)

// The ends of a walk that are the runner's own. The others are onejob's, above
// all ErrInDoubt, ErrAttemptOpen and ErrNotQualified.
var (
	// ErrNoTargetLeft: this run has asked each provider that it may ask, and none
	// of them is in doubt. The job stays open: run it again later.
	ErrNoTargetLeft = errors.New("no target is left in this run, and none is in doubt: see the attempts' causes (Jobs.Attempts), and run the job again later or cancel it")
	// ErrTriesUsed is ErrNoTargetLeft where no later run may ask anybody either:
	// all have used up Config.Tries.
	ErrTriesUsed = fmt.Errorf("%w; all tries are used up: raise Config.Tries or add a provider first", ErrNoTargetLeft)
	// ErrOutOfTime: the job's total time is over, or so little of it is left that
	// an attempt would only end in doubt. Nothing was begun.
	ErrOutOfTime = errors.New("the job's total time is over: cancel it, or run it with a longer one")
)

// Error is why a walk ended without a result. Its text holds IDs, states and
// names of providers: never a key, an owner, params or a result.
type Error struct {
	// Err is ErrNoTargetLeft, ErrTriesUsed, ErrOutOfTime or an *onejob.Error: ask
	// with errors.Is and errors.As.
	Err error
	// Then is what else would have ended the walk, where Err is a doubt that
	// outweighs it. errors.Is does not see it.
	Then error
	// Provider is who was asked, or was to be asked: the one that is in doubt,
	// or not qualified. Empty where it is about none.
	Provider string
	// Job is the job as it stands; without an ID where none is known.
	Job onejob.Job
	// Attempt is the one in doubt or in the way, with the provider's handle in
	// ExternalRef.
	Attempt *onejob.Attempt
}

// Error tells why, and about whom.
func (e *Error) Error() string {
	text := "failover: "
	if e.Job.ID != "" && !asOnejob(e.Err) {
		text += "job " + string(e.Job.ID) + ": "
	}
	if e.Provider != "" {
		text += e.Provider + ": "
	}
	text += e.Err.Error()
	switch {
	case errors.Is(e.Err, onejob.ErrInDoubt):
		text += "; Run and Reconcile ask a provider that can be asked"
	case errors.Is(e.Err, onejob.ErrNotQualified):
		text += "; Qualify and Save the report"
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func asOnejob(err error) bool {
	var e *onejob.Error
	return errors.As(err, &e)
}

// stopped is the end of a walk by an error of the core's.
func stopped(job onejob.Job, name string, err error) error {
	e := &Error{Err: err, Provider: name, Job: job}
	var core *onejob.Error
	if errors.As(err, &core) {
		e.Attempt = core.Attempt
		if core.Job.ID != "" {
			e.Job = core.Job
		}
		if e.Attempt != nil && e.Attempt.Provider != "" && !errors.Is(err, onejob.ErrNotQualified) {
			e.Provider = e.Attempt.Provider
		}
	}
	return e
}
