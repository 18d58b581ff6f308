package console

import (
	"fmt"
	"strings"

	"github.com/onejob-go/onejob"
)

// outcome is what a decision leads to: Means says what happens, and Mind what
// cannot be undone.
type outcome struct {
	Means []string
	Mind  string
	Yes   string // on the button that does it
}

const thrownAway = "Should it come back with a result, that is thrown away."

// outcomeOf tells it for the job as it stands: an attempt that blocks nothing lets
// nobody begin, and on a job that is over nothing begins at all.
func (d decision) outcomeOf() outcome {
	switch {
	case d.Attempt == nil:
		return outcome{
			Means: []string{
				"The intent is withdrawn: nothing can win any more, and no attempt may begin.",
				"An attempt that is under way is not stopped. It stays open until somebody finds out what it did.",
				"Its result comes too late from now on, and is thrown away.",
			},
			Mind: "A canceled job stays canceled: to do it after all takes a new key.",
			Yes:  "Yes, withdraw the intent",
		}
	case d.Job.State != onejob.JobOpen:
		return d.whenOver()
	}
	return d.whenOpen()
}

func (d decision) whenOpen() outcome {
	next := "Another attempt may begin at once."
	if !d.Attempt.State.Open() {
		next = "It was detached and has blocked nothing since: who may begin stays as it is."
	}
	switch d.Action.Name {
	case "confirm":
		return d.confirmed()
	case "refute":
		return outcome{
			Means: []string{
				"You say that the provider did nothing for this attempt, and that its request cannot arrive any more.",
				"The attempt has failed. " + next, thrownAway,
			},
			Mind: "If the provider did act, another attempt does it a second time. " +
				"At the same provider it carries a new provider key: the provider cannot see that it is the same.",
			Yes: "Yes, it had no effect",
		}
	case "detach":
		return outcome{
			Means: []string{
				"You do not know what became of this attempt, and do not want to wait for it.",
				"It blocks no longer: another may begin. Both may still win, the first to complete does.",
				"What the other one brings is thrown away, and listed under late results.",
			},
			Mind: "Both may take effect, and one may then have to be undone by hand. " + sameKeyNext,
			Yes:  "Yes, go on beside it",
		}
	}
	return outcome{
		Means: []string{"Whatever this attempt did or still does, it cannot win any more.", next, thrownAway},
		Mind: "Nothing is undone at the provider. If it did act, its effect is there, and another attempt does it a second time. " +
			sameKeyNext,
		Yes: "Yes, cancel the attempt",
	}
}

// confirmed is Confirm on an open job. Of an attempt that has ended meanwhile it is
// what the page says that keeps the evidence.
func (d decision) confirmed() outcome {
	if !undecided(d.Attempt.State) {
		mind := "The job is not completed by it, and another attempt does it once more. "
		if d.Attempt.State != onejob.StateFailed { // after which the key is a new one
			mind += sameKeyNext
		}
		return outcome{Mind: mind}
	}
	return outcome{
		Means: []string{
			"You say that the provider did what this attempt asked of it.",
			"The job is completed with the result that you enter. Everybody who asks for this job gets it from now on.",
			"What the host does when a job completes is done in the same commit.",
			"No other attempt may begin. Whatever else comes back is thrown away.",
		},
		Mind: "A completed job stays completed, and its result is never changed.",
		Yes:  "Yes, it happened: complete the job",
	}
}

const sameKeyNext = "At the same provider another attempt carries the same provider key: one that deduplicates by it acts once."

// whenOver is about an attempt whose job is over: what is decided is only what
// became of it.
func (d decision) whenOver() outcome {
	stays := fmt.Sprintf("The job stays %s, and no attempt begins.", d.Job.State)
	mind := "If the provider did act, that is one effect too many: " + mayBeUndone + d.sameKey()
	switch d.Action.Name {
	case "confirm":
		return outcome{
			Means: []string{
				"You say that the provider did what this attempt asked of it, although the job is over.",
				"The job stays as it is, and what you enter is thrown away. That it came, its size and its digest are kept, and listed under late results.",
			},
			Mind: "What you confirm is one effect too many: " + mayBeUndone + d.sameKey(),
			Yes:  "Yes, it happened: file it as late",
		}
	case "refute":
		return outcome{
			Means: []string{
				"You say that the provider did nothing for this attempt, and that its request cannot arrive any more.",
				"The attempt has failed. " + stays, thrownAway,
			},
			Mind: mind, Yes: "Yes, it had no effect",
		}
	}
	return outcome{
		Means: []string{"Nobody asks any more what this attempt did: it is canceled.", stays, thrownAway},
		Mind:  "Nothing is undone at the provider. " + mind, Yes: "Yes, cancel the attempt",
	}
}

const mayBeUndone = "it may have to be undone at the provider."

// sameKey warns of undoing what was wanted: to a provider that deduplicates,
// attempts under one key are one effect.
func (d decision) sameKey() string {
	var with []string
	for _, a := range d.Attempts {
		if a.ID != d.Attempt.ID && a.Provider == d.Attempt.Provider && a.ProviderKey == d.Attempt.ProviderKey {
			with = append(with, fmt.Sprint(a.Number))
		}
	}
	switch len(with) {
	case 0:
		return ""
	case 1:
		return " But attempt " + with[0] + sharedKey
	}
	return " But attempts " + strings.Join(with[:len(with)-1], ", ") + " and " + with[len(with)-1] + sharedKey
}

const sharedKey = " at the same provider had the same provider key: if the provider deduplicates by it, it has acted once for all of them. Look there before you undo anything."
