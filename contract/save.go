package contract

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/onejob-go/onejob"
)

// ErrIncomplete is the error of a report whose runs were not all made.
var ErrIncomplete = errors.New("contract: the report is not complete: qualify again, to the end")

// maxFailures is how many failures are kept as evidence; the rest is counted.
const maxFailures = 100

// Save keeps the report as a qualification, for the contract's TTL: from now on
// attempts that require it may begin, if it passed; if not, none may any more.
// op's store must be that of the jobs.
func Save(ctx context.Context, op *onejob.Operator, r Report) (onejob.Qualification, error) {
	if r.Planned == 0 || r.Runs != r.Planned || r.ttl <= 0 {
		return onejob.Qualification{}, ErrIncomplete
	}
	evidence := r
	if len(r.Failures) > maxFailures {
		evidence.Failures = r.Failures[:maxFailures]
	}
	text, err := json.Marshal(evidence)
	if err != nil {
		return onejob.Qualification{}, err
	}
	passes := r.Passes
	if !r.Passed() {
		passes = min(passes, r.Runs-1) // whatever else is wrong
	}
	return op.SaveQualification(ctx, onejob.Qualification{
		Provider: r.Route.Name, Requirement: r.Requirement(), Runs: r.Runs, Passes: passes, Evidence: text,
	}, r.ttl)
}
