package console

import (
	"github.com/onejob-go/onejob"
)

// action is a decision, and what it means in words for whoever is woken by it.
type action struct {
	Name string // in the address
	Verb string // on links and headings
	Yes  string // on the button that does it
	Hint string // one line, beside the link
	// Means says what happens, and Mind what cannot be undone.
	Means []string
	Mind  string
	To    onejob.State
}

// actions are those on attempts, in the order of how much they rest on knowledge.
var actions = []action{
	{
		Name: "confirm", Verb: "Confirm: it happened", Yes: "Yes, it happened: complete the job",
		Hint: "You know that the provider did it, and have its result.",
		Means: []string{
			"You say that the provider did what this attempt asked of it.",
			"The job is completed with the result that you enter. Everybody who asks for this job gets it from now on.",
			"What the host does when a job completes is done in the same commit.",
			"No other attempt may begin. Whatever else comes back is thrown away.",
		},
		Mind: "A completed job stays completed, and its result is never changed.",
		To:   onejob.StateSucceeded,
	},
	{
		Name: "refute", Verb: "Refute: it had no effect", Yes: "Yes, it had no effect: let another try",
		Hint: "You know that the provider did nothing, and will not.",
		Means: []string{
			"You say that the provider did nothing for this attempt, and that its request cannot arrive any more.",
			"The attempt has failed, and another may begin at once.",
			"Should it come back with a result, that is thrown away.",
		},
		Mind: "If the provider did act, the next attempt does it a second time.",
		To:   onejob.StateFailed,
	},
	{
		Name: "detach", Verb: "Detach: go on beside it", Yes: "Yes, go on beside it",
		Hint: "You do not know, and cannot wait: let another try, the first to finish wins.",
		Means: []string{
			"You do not know what became of this attempt, and do not want to wait for it.",
			"It blocks no longer: another may begin. Both may still win, the first to complete does.",
			"What the other one brings is thrown away, and listed under late results.",
		},
		Mind: "Both may take effect. One of them may then have to be undone by hand.",
		To:   onejob.StateDetached,
	},
	{
		Name: "cancel", Verb: "Cancel: it shall not win", Yes: "Yes, cancel the attempt",
		Hint: "Whatever it did, its result is not wanted.",
		Means: []string{
			"Whatever this attempt did or still does, it cannot win any more.",
			"Another attempt may begin at once.",
			"Should it come back with a result, that is thrown away.",
		},
		Mind: "Nothing is undone at the provider. If it did act, its effect is there, and the next attempt does it a second time.",
		To:   onejob.StateCanceled,
	},
}

// cancelJob is the one on jobs.
var cancelJob = action{
	Name: "cancel", Verb: "Cancel the job: withdraw the intent", Yes: "Yes, withdraw the intent",
	Hint: "Nobody wants it any more.",
	Means: []string{
		"The intent is withdrawn: nothing can win any more, and no attempt may begin.",
		"An attempt that is under way is not stopped. It stays open until somebody finds out what it did.",
		"Its result comes too late from now on, and is thrown away.",
	},
	Mind: "A canceled job stays canceled: to do it after all takes a new key.",
}

// overMeans is what confirming means where the job is over already.
var overMeans = []string{
	"You say that the provider did what this attempt asked of it, although the job is over.",
	"The job stays as it is, and what you enter is thrown away. That it came, its size and its digest are kept, and listed under late results.",
}

const overMind = "What you confirm is one effect too many: it may have to be undone at the provider."

func actionNamed(name string) (action, bool) {
	for _, k := range actions {
		if k.Name == name {
			return k, true
		}
	}
	return action{}, false
}

// notices are what a page says after a decision, by a word in its address.
var notices = map[string]string{
	"confirm":    "Done: the job is completed with the result that you confirmed.",
	"refute":     "Done: the attempt has failed, and another may begin.",
	"detach":     "Done: the attempt blocks no longer. It may still win.",
	"cancel":     "Done: the attempt is canceled. It cannot win any more.",
	"cancel-job": "Done: the intent is withdrawn.",
	"over":       "Done: the job was over already. What you confirmed is kept as a late result; it may have to be undone.",
}
