package console

import (
	"slices"

	"github.com/onejob-go/onejob"
)

// noticeOf is what a job's page says after a decision, by a word in its address.
// Anybody may have sent that address, or kept it: it says only what the job bears
// out.
func noticeOf(word string, job onejob.Job, attempts []onejob.Attempt) string {
	decided := func(to onejob.State) bool {
		return slices.ContainsFunc(attempts, func(a onejob.Attempt) bool { return a.State == to && a.By != "" })
	}
	pending := job.Status() == onejob.StatusPending
	switch {
	case word == "confirm" && job.State == onejob.JobCompleted && decided(onejob.StateSucceeded):
		return "Done: the job is completed with the result that was confirmed."
	case word == "refute" && decided(onejob.StateFailed):
		if pending {
			return "Done: the attempt has failed, and another may begin."
		}
		return "Done: the attempt has failed."
	case word == "detach" && job.State == onejob.JobOpen && decided(onejob.StateDetached):
		return "Done: the attempt blocks no longer. It may still win."
	case word == "cancel" && decided(onejob.StateCanceled):
		return "Done: the attempt is canceled. It cannot win any more."
	case word == "cancel-job" && job.State == onejob.JobCanceled:
		return "Done: the intent is withdrawn."
	case word == "over" && job.State != onejob.JobOpen && slices.ContainsFunc(attempts, func(a onejob.Attempt) bool { return !a.LateAt.IsZero() }):
		return "Done: the job was over already. What was confirmed is kept as a late result; see whether it has to be undone."
	}
	return ""
}
