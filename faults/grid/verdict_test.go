package grid

import (
	"context"
	"errors"
	"strings"

	"github.com/onejob-go/onejob"
)

// told is what a caller may make of an answer.
type told string

const (
	toldDone  told = "ok" // done, or the refusal that the operation is about
	toldDoubt told = "?"  // it may have been applied
	toldNot   told = "no" // it has not been applied
	toldNone  told = "†"  // the caller is dead
)

// understand takes an error for what it says, and no more. Whatever is not
// one of the library's refusals comes from a transaction that the host commits
// itself, and proves nothing.
func understand(op *operation, err error) told {
	var e *onejob.Error
	switch {
	case op.answer == nil && err == nil, op.answer != nil && errors.Is(err, op.answer):
		return toldDone
	case errors.Is(err, onejob.ErrUnavailable), errors.Is(err, onejob.ErrInDoubt),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		op.hostTx && err != nil && !errors.As(err, &e):
		return toldDoubt
	}
	return toldNot
}

// answer is what one call came to.
type answer struct {
	told told
	text string
	err  error // nil where the call was another process's
}

func (a answer) String() string { return string(a.told) + " " + a.text }

func answerOf(op *operation, err error) answer {
	a := answer{told: understand(op, err), err: err}
	if err != nil {
		a.text = err.Error()
	}
	return a
}

// judge compares what the caller was told with what stands.
func judge(op *operation, w *world, a answer, before, after view) (broken []string) {
	there := op.there(w, after)
	switch {
	case a.told == toldDone && !there:
		broken = append(broken, "I10: the caller was told that it is done, and it is not there")
	case a.told == toldNot && after.String() != before.String():
		broken = append(broken, "I11: the caller was told that it was not applied, and something changed")
	case !there && !op.steps && after.String() != before.String():
		broken = append(broken, "half of it is there")
	}
	return append(broken, once(op, there, before, after)...)
}

// once says what was done more than once, or less than whole.
func once(op *operation, there bool, before, after view) (broken []string) {
	for _, c := range []struct {
		what      string
		was, is   int
		expecting int
	}{
		{"versions", before.versions(), after.versions(), op.versions},
		{"attempts", len(before.attempts), len(after.attempts), op.attempts},
		{"rows of the host", before.rows, after.rows, op.rows},
	} {
		got := c.is - c.was
		if got > c.expecting || got < 0 || there && got != c.expecting {
			broken = append(broken, "not done exactly once: "+c.what+" rose by "+text(got)+", not by "+text(c.expecting))
		}
	}
	if after.calls > 1 {
		broken = append(broken, "the provider was called twice")
	}
	return broken
}

// settled reports whether an answer to a repeat is definite, and allowed.
func settled(op *operation, a answer) bool {
	if a.told == toldDone {
		return true
	}
	for _, err := range op.again {
		if errors.Is(a.err, err) && !errors.Is(a.err, onejob.ErrUnavailable) {
			return true
		}
	}
	return false
}

// leaked looks for what must be nowhere.
func leaked(final view, texts ...string) (broken []string) {
	if strings.Contains(final.String(), loserMark) {
		broken = append(broken, "I9: the loser's result is in a table")
	}
	for _, text := range texts {
		for _, mark := range []string{ownerMark, keyMark, paramsMark, resultMark, loserMark} {
			if strings.Contains(text, mark) {
				broken = append(broken, "an error or a log line quotes "+mark+": "+text)
			}
		}
	}
	return broken
}
