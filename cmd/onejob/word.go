package main

import (
	"slices"

	"github.com/onejob-go/onejob"
)

// The row of an attempt holds one name and one reason: those of the last
// decision. One that was detached keeps its detacher's if it then ends by itself,
// and loses them to whoever decides later. So only two states say what was
// decided; of the others it is told that it was the last word.

// wordLabel names the decision that a row holds.
func wordLabel(state onejob.State) string {
	switch state {
	case onejob.StateDetached:
		return "detached by"
	case onejob.StateCanceled:
		return "canceled by"
	}
	return "last decision"
}

// lastWord is the decision that a row holds, to follow its state.
func lastWord(a onejob.Attempt) string {
	switch {
	case a.By == "":
		return ""
	case a.State == onejob.StateDetached || a.State == onejob.StateCanceled:
		return whose(a.Decision)
	}
	return "; the last decision was" + whose(a.Decision)[1:]
}

// wasDetached is whether another attempt began while this one had not ended. The
// row itself forgets that it was detached.
func wasDetached(a onejob.Attempt, all []onejob.Attempt) bool {
	return a.State == onejob.StateDetached || slices.ContainsFunc(all, func(b onejob.Attempt) bool {
		return b.Number > a.Number && (a.EndedAt.IsZero() || b.StartedAt.Before(a.EndedAt))
	})
}

// sameKey is another attempt that its provider cannot tell from this one.
func sameKey(a onejob.Attempt, all []onejob.Attempt) (other onejob.Attempt, found bool) {
	for _, b := range all {
		if b.ID != a.ID && b.Provider == a.Provider && b.ProviderKey == a.ProviderKey {
			return b, true
		}
	}
	return onejob.Attempt{}, false
}
