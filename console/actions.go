package console

import (
	"github.com/onejob-go/onejob"
)

// action is a decision, in words for whoever is woken by it. What follows from it
// depends on how things stand: see outcomeOf.
type action struct {
	Name string // in the address
	Verb string // on links and headings
	Hint string // one line, beside the link
	To   onejob.State
}

// actions are those on attempts, in the order of how much they rest on knowledge.
var actions = []action{
	{
		Name: "confirm", Verb: "Confirm: it happened", To: onejob.StateSucceeded,
		Hint: "You know that the provider did it, and have its result.",
	},
	{
		Name: "refute", Verb: "Refute: it had no effect", To: onejob.StateFailed,
		Hint: "You know that the provider did nothing, and will not.",
	},
	{
		Name: "detach", Verb: "Detach: go on beside it", To: onejob.StateDetached,
		Hint: "You do not know, and cannot wait: let another try, the first to finish wins.",
	},
	{
		Name: "cancel", Verb: "Cancel: it shall not win", To: onejob.StateCanceled,
		Hint: "Whatever it did, its result is not wanted.",
	},
}

// cancelJob is the one on jobs.
var cancelJob = action{
	Name: "cancel", Verb: "Cancel the job: withdraw the intent",
	Hint: "Nobody wants it any more.",
}

func actionNamed(name string) (action, bool) {
	for _, k := range actions {
		if k.Name == name {
			return k, true
		}
	}
	return action{}, false
}
