package console

import "github.com/onejob-go/onejob"

// decidedBy is what stands before an operator's name. A row keeps one decision:
// that of who ended the attempt or, where it ended by itself, of who had detached
// it. Only these two states tell which one it was.
func decidedBy(a onejob.Attempt) string {
	switch a.State {
	case onejob.StateDetached:
		return "Detached by"
	case onejob.StateCanceled:
		return "Canceled by"
	}
	return "Decided by"
}

// doubted reports whether the attempt's call came back and left a doubt. Of one
// that has failed the cause may be that of the failure.
func doubted(a onejob.Attempt) bool { return a.Cause != "" && a.State != onejob.StateFailed }

// remarks say what an attempt's row does not.
func remarks(a onejob.Attempt) (text []string) {
	switch {
	case doubted(a):
		text = append(text, "Its call ended in doubt; when is not stored.")
	case a.State == onejob.StateUnknown:
		text = append(text, "No cause is stored: for all that is known, nobody came back.")
	}
	switch {
	case a.State == onejob.StateDetached:
		text = append(text, "When it was detached is not stored.")
	case a.By == "":
	case a.State == onejob.StateSucceeded:
		text = append(text, "Confirmed, or detached and then completed by itself: one decision is kept, the last.")
	case a.State == onejob.StateFailed:
		text = append(text, "Refuted, or detached and then failed by itself: one decision is kept, the last.")
	case a.State == onejob.StateLate:
		text = append(text, "Confirmed too late, or detached and then late by itself: one decision is kept, the last.")
	}
	return text
}
