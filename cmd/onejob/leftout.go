package main

import (
	"fmt"
	"iter"

	"github.com/onejob-go/onejob"
)

// leftOut counts the attempts that a decision about many does not take, whatever
// the filter says: each of them is one for a person to look at.
type leftOut struct{ acted, over int }

func (l *leftOut) of(v verb, all iter.Seq2[onejob.Entry, error]) iter.Seq2[onejob.Entry, error] {
	return func(yield func(onejob.Entry, error) bool) {
		for e, err := range all {
			switch {
			case err != nil:
			case v.to == onejob.StateFailed && hasActed(e.Attempt):
				l.acted++
				continue
			case v.to == onejob.StateDetached && e.Job.State != onejob.JobOpen:
				l.over++
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *leftOut) tell(s *session) {
	if l.acted > 0 {
		s.note("Left out: %s whose provider HAS ACTED, by the cause: its result could not be stored. Confirm those.", count(l.acted, "attempt"))
	}
	if l.over > 0 {
		s.note("Left out: %s whose job is over: nothing waits for those. Refute or cancel them.", count(l.over, "attempt"))
	}
}

// refs tells of how many the provider has a name of its own.
func refs(entries []onejob.Entry) string {
	n := 0
	for _, e := range entries {
		if e.Attempt.ExternalRef != "" {
			n++
		}
	}
	if n == 0 {
		return "no external refs"
	}
	return fmt.Sprintf("%d have an external ref: their provider took them in", n)
}
