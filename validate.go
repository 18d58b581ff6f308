package onejob

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of the input, in bytes.
const (
	maxOwner       = 128
	maxKey         = 255
	maxKind        = 63
	maxTarget      = 63
	maxProvider    = 63
	maxExternalRef = 255
	maxBy          = 128
	maxText        = 4 << 10  // causes and reasons are cut here
	maxPayload     = 16 << 20 // what the databases' own checks allow
)

// checkText is the one rule for names: valid UTF-8 of min to max bytes,
// without control characters (NUL among them).
func checkText(field, s string, min, max int) error {
	if len(s) < min {
		return invalid(field, "is required")
	}
	if len(s) > max {
		return invalid(field, "has "+strconv.Itoa(len(s))+" bytes, the limit is "+strconv.Itoa(max))
	}
	if !utf8.ValidString(s) {
		return invalid(field, "must be valid UTF-8")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return invalid(field, "must not hold control characters")
	}
	return nil
}

func checkSize(field string, p []byte, max int) error {
	if len(p) > max {
		return invalid(field, "has "+strconv.Itoa(len(p))+" bytes, the limit is "+strconv.Itoa(max))
	}
	return nil
}

// checkIntent validates in and returns its fingerprint.
func (s *Jobs) checkIntent(in Intent) (fingerprint, error) {
	for _, err := range []error{
		checkText("Intent.Owner", in.Owner, 1, maxOwner),
		checkText("Intent.Key", in.Key, 1, maxKey),
		checkText("Intent.Kind", in.Kind, 1, maxKind),
		checkText("Intent.Target", in.Target, 0, maxTarget),
		checkSize("Intent.Params", in.Params, s.maxParams),
	} {
		if err != nil {
			return fingerprint{}, err
		}
	}
	return fingerprintOf(in)
}

func checkTry(try Try) error {
	if err := checkText("Try.Provider", try.Provider, 1, maxProvider); err != nil {
		return err
	}
	if try.Timeout <= 0 {
		return invalid("Try.Timeout", "must be positive")
	}
	if try.Require != nil {
		if err := checkRequirement("Try.Require", *try.Require); err != nil {
			return err
		}
	}
	if try.ID != "" && try.ID.Job() == "" {
		return invalid("Try.ID", "is not an attempt's ID: leave it empty or repeat one that was returned")
	}
	return nil
}

// checkAttempt validates an attempt handed in by the caller.
func checkAttempt(a Attempt) error {
	job := a.ID.Job()
	if job == "" {
		return &Error{Err: ErrNotFound}
	}
	if a.JobID != "" && a.JobID != job {
		return invalid("Attempt.JobID", "does not belong to Attempt.ID")
	}
	return nil
}

func checkDecision(d Decision) error {
	if err := checkText("Decision.By", d.By, 1, maxBy); err != nil {
		return err
	}
	if strings.TrimSpace(d.Reason) == "" {
		return invalid("Decision.Reason", "is required")
	}
	return nil
}

func checkFilter(f Filter) error {
	for _, err := range []error{
		checkText("Filter.Owner", f.Owner, 0, maxOwner),
		checkText("Filter.Kind", f.Kind, 0, maxKind),
		checkText("Filter.Provider", f.Provider, 0, maxProvider),
	} {
		if err != nil {
			return err
		}
	}
	for _, state := range f.States {
		switch state {
		case StateStarted, StateUnknown, StateDetached, StateSucceeded, StateFailed, StateCanceled, StateLate:
		default:
			return invalid("Filter.States", "holds what is no state")
		}
	}
	if y := f.Before.Year(); y < 1 || y > 9999 {
		return invalid("Filter.Before", "must be within the years 1 to 9999")
	}
	if y := f.LateSince.Year(); y < 1 || y > 9999 {
		return invalid("Filter.LateSince", "must be within the years 1 to 9999")
	}
	if !f.LateSince.IsZero() && !f.Late {
		return invalid("Filter.LateSince", "needs Late")
	}
	return nil
}

// cleanText makes free text storable: valid UTF-8 without NUL, cut at a rune
// border. It is for people to read, so mending beats refusing.
func cleanText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// wholeMicros rounds a duration up to the whole microseconds that are stored,
// so that nothing positive becomes zero; the longest is rounded down.
func wholeMicros(d time.Duration) time.Duration {
	if rest := d % time.Microsecond; rest > 0 {
		d -= rest
		if d <= math.MaxInt64-time.Microsecond {
			d += time.Microsecond
		}
	}
	return d
}
