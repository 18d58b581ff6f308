package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

// The refusals of [Save].
var (
	// ErrIncomplete is the error of a report whose runs were not all made.
	ErrIncomplete = errors.New("contract: the report is not complete: qualify again, to the end")
	// ErrOld is the error of a report whose time is over, or which passed before a
	// newer one that is stored: what was true then may not be now. It is also that
	// of a report from the future, by more than five minutes.
	ErrOld = errors.New("contract: the report is old (or from the future), or a newer one is stored: qualify again")
)

const (
	maxSkew     = 5 * time.Minute
	maxFailures = 100     // failures that are kept as evidence; the rest is counted
	maxEvidence = 1 << 20 // what a store takes
)

// Save keeps the report as a qualification, for the contract's TTL from
// [Report.At]: from now on attempts that require it may begin, if it passed; if
// not, none may any more. The report may come from another process, as JSON. op's
// store must be that of the jobs.
//
// Of two processes that qualify the same provider the one that began later
// counts, unless both save in the same moment: then the one that is stored last.
func Save(ctx context.Context, op *onejob.Operator, r Report) (onejob.Qualification, error) {
	if r.Planned == 0 || r.Runs != r.Planned && !r.Prompt.Wrong || r.TTL <= 0 {
		return onejob.Qualification{}, ErrIncomplete
	}
	left := r.TTL - time.Since(r.At)
	if left <= 0 || time.Until(r.At) > maxSkew {
		return onejob.Qualification{}, ErrOld
	}
	for q, err := range op.Qualifications(ctx) {
		if err != nil {
			return onejob.Qualification{}, err
		}
		if !r.Passed() {
			break // bad news is stored, whatever other clocks say
		}
		var stored Report
		if q.Provider == r.Route.Name && q.Requirement == r.Requirement() && json.Unmarshal(q.Evidence, &stored) == nil && stored.At.After(r.At) {
			return onejob.Qualification{}, ErrOld
		}
	}
	runs, passes := max(r.Runs, 1), r.Passes
	if !r.Passed() {
		passes = min(passes, runs-1) // whatever else is wrong
	}
	return op.SaveQualification(ctx, onejob.Qualification{
		Provider: r.Route.Name, Requirement: r.Requirement(), Runs: runs, Passes: passes, Evidence: evidence(r),
	}, min(left, r.TTL))
}

// evidence is the report, as much of it as may be kept. That a provider failed
// counts for more than how.
func evidence(r Report) []byte {
	for most := maxFailures; ; most /= 4 {
		r.Failures = r.Failures[:min(most, len(r.Failures))]
		text, err := json.Marshal(r)
		switch {
		case err == nil && len(text) <= maxEvidence:
			return text
		case err != nil || most == 0:
			return nil
		}
	}
}
