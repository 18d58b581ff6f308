package contract

import "errors"

// Reason says in one word in which way an answer breaks the contract. It is
// stable: programs may branch on it.
type Reason string

// The reasons. Those about the prompt come before any call.
const (
	ReasonNotJSON      Reason = "not json"         // no JSON at all, such as prose before it
	ReasonCut          Reason = "cut off"          // it ends before its end
	ReasonTrailing     Reason = "trailing text"    // something follows the JSON
	ReasonDuplicate    Reason = "duplicate key"    // an object has a key twice, at any depth
	ReasonWrapped      Reason = "wrapped"          // the right object inside of another one
	ReasonEcho         Reason = "schema echoed"    // the schema itself
	ReasonExtraKey     Reason = "extra key"        // a top-level key that the contract does not have
	ReasonMissingKey   Reason = "missing key"      // a top-level key is not there
	ReasonNumberText   Reason = "number as text"   // a number in quotation marks
	ReasonSchema       Reason = "schema"           // the schema is broken in another way
	ReasonDropped      Reason = "prompt dropped"   // a marker was rendered, and the output shows nothing of it
	ReasonWrong        Reason = "wrong answer"     // a check says that it does not fit the input
	ReasonConstant     Reason = "constant answer"  // wrong, and the same for inputs that differ
	ReasonModel        Reason = "another model"    // somebody else has answered
	ReasonCached       Reason = "cached"           // two runs have the same handle: one of them was not run
	ReasonRefused      Reason = "refused"          // the provider's final no
	ReasonUnknown      Reason = "unknown"          // nobody knows what happened: a timeout, a reset, a 5xx
	ReasonNotStarted   Reason = "not accepted"     // it was not accepted
	ReasonFailed       Reason = "failed"           // it ended without an output
	ReasonRender       Reason = "not rendered"     // the prompt could not be made
	ReasonMarker       Reason = "marker missing"   // the prompt lacks a marker in its role
	ReasonTokenizer    Reason = "tokenizer"        // decoding does not give the prompt back
	ReasonSpecialToken Reason = "special token"    // a special token's literal in the input does not stay text
	ReasonWindow       Reason = "window too small" // prompt and room do not fit
)

// Violation is how an output breaks a contract. Its text holds the reason and
// places in the schema: nothing of params or outputs.
type Violation struct {
	Reason Reason
	// Where is the place in the schema, or which check it was.
	Where string
	// Err is a check's own error.
	Err error
}

// Error tells reason and place. A check's error is not in it, for it may quote:
// see [Violation.Unwrap].
func (v *Violation) Error() string {
	text := "the output breaks the contract: " + string(v.Reason)
	if v.Where != "" {
		text += " (" + v.Where + ")"
	}
	return text
}

// Unwrap returns the error of the check, if it was one.
func (v *Violation) Unwrap() error { return v.Err }

// reasonOf is the reason of an error, and whether it has one.
func reasonOf(err error) (Reason, bool) {
	var v *Violation
	if errors.As(err, &v) {
		return v.Reason, true
	}
	return "", false
}
