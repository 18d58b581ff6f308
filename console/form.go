package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

const (
	maxBy     = 128
	maxReason = 4 << 10
)

// form is what an operator has entered.
type form struct {
	By      string
	ByLogin bool // By is who is logged in: not editable
	Reason  string
	Kind    string // how Text was entered: json, text, base64 or empty
	Text    string
	Result  []byte
	// Seen is how things stood on the page that was decided upon.
	Seen string
	Bad  map[string]string
}

// kinds are how a result may be entered.
var kinds = [][2]string{{"json", "JSON"}, {"text", "Text"}, {"base64", "Bytes, in base64"}, {"empty", "An empty result"}}

// Kinds are the choices.
func (f form) Kinds() [][2]string { return kinds }

// Encoded is the result as it travels through the page that asks again: a field of
// text would not keep its line breaks.
func (f form) Encoded() string { return base64.StdEncoding.EncodeToString(f.Result) }

// Digest is the result's SHA-256.
func (f form) Digest() [32]byte { return sha256.Sum256(f.Result) }

// Preview is the beginning of the result.
func (f form) Preview() *payload { return payloadOf(f.Result) }

func (f form) decision() onejob.Decision { return onejob.Decision{By: f.By, Reason: f.Reason} }

// readForm reads what was posted and says what is wrong with it.
func (v *view) readForm(values url.Values, confirm bool) form {
	f := form{
		By: v.name(values), ByLogin: v.o.By != nil,
		Reason: cleaned(values.Get("reason")), Seen: values.Get("seen"),
		Bad: map[string]string{},
	}
	switch {
	case f.By == "":
		f.Bad["by"] = "Say who decides."
	case len(f.By) > maxBy:
		f.Bad["by"] = "At most 128 bytes."
	case !utf8.ValidString(f.By) || strings.ContainsFunc(f.By, unicode.IsControl):
		f.Bad["by"] = "No control characters."
	}
	switch {
	case f.Reason == "":
		f.Bad["reason"] = "Say how you know, or why. It is stored with the decision."
	case len(f.Reason) > maxReason:
		f.Bad["reason"] = "At most 4 KiB."
	}
	if confirm {
		f.readResult(values)
	}
	return f
}

// name is the login's, whatever the form says, where the host knows it.
func (v *view) name(values url.Values) string {
	if v.o.By != nil {
		return v.o.By(v.r)
	}
	return strings.TrimSpace(values.Get("by"))
}

// cleaned is a reason as the library stores it: so a repeated one is the same.
func cleaned(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	return strings.TrimSpace(s)
}

func (f *form) readResult(values url.Values) {
	f.Kind = values.Get("kind")
	if encoded, ok := values["encoded"]; ok { // from the page that asked again
		result, err := base64.StdEncoding.DecodeString(encoded[0])
		if err != nil {
			f.Bad["result"] = "It did not come whole: enter it again."
			return
		}
		f.Result, f.Text = result, string(result)
		switch {
		case f.Kind == "base64" || !utf8.Valid(result):
			f.Kind, f.Text = "base64", encoded[0]
		case f.Kind == "empty":
			f.Text = ""
		}
		return
	}
	f.Text = strings.ReplaceAll(values.Get("result"), "\r\n", "\n")
	f.take()
}

// take makes the result of what was entered.
func (f *form) take() {
	switch f.Kind {
	case "json":
		if f.Result = []byte(f.Text); !json.Valid(f.Result) {
			f.Bad["result"] = "This is not JSON."
		}
	case "text":
		if f.Result = []byte(f.Text); len(f.Result) == 0 {
			f.Bad["result"] = "Enter the result, or choose an empty one."
		}
	case "base64":
		var err error
		if f.Result, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Text), "")); err != nil {
			f.Bad["result"] = "This is not base64."
		}
	case "empty":
		if f.Result = []byte{}; strings.TrimSpace(f.Text) != "" {
			f.Bad["result"] = "An empty result was chosen, and something is entered."
		}
	default:
		f.Bad["kind"] = "Say what kind of result it is."
	}
}

// same reports whether an attempt or a job carries this very decision.
func (f form) same(d onejob.Decision) bool { return d == f.decision() }

// sameLate reports whether the evidence of a late result is that of this one.
func (f form) sameLate(a onejob.Attempt) bool {
	digest := f.Digest()
	return !a.LateAt.IsZero() && bytes.Equal(a.LateDigest[:], digest[:])
}
