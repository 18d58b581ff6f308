package console

import (
	"encoding/hex"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

// words are what templates say things with.
var words = template.FuncMap{
	"visible": visible[string],
	"short":   short,
	"moment":  moment,
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"span":    span,
	// The store's clock may be ahead of this one.
	"since":     func(now, t time.Time) string { return span(max(now.Sub(t), 0)) },
	"bytes":     bytesText,
	"hex":       func(b [32]byte) string { return hex.EncodeToString(b[:]) },
	"state":     func(s any) string { return fmt.Sprint(s) },
	"decidedBy": decidedBy,
	"remarks":   remarks,
	"len64":     func(b []byte) int64 { return int64(len(b)) },
}

// visible makes text that others wrote safe to look at: characters that cannot
// be seen, that turn the direction of writing, or that are no text at all are
// spelled out. Line breaks and tabs stay.
func visible[T ~string](t T) string {
	s := string(t)
	clean := func(r rune) bool { return r == '\n' || r == '\t' || r != utf8.RuneError && shown(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case clean(r) || r == utf8.RuneError:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%04X}`, r)
		}
		s = s[size:]
	}
	return b.String()
}

func shown(r rune) bool {
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) &&
		!unicode.Is(unicode.Variation_Selector, r) && r != '\u3164' && r != '\u115F' && r != '\u1160' && r != '\u2800'
}

// short is visible text of one line, cut for where there is little room.
func short(max int, t string) string {
	s := strings.Join(strings.Fields(visible(t)), " ")
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}

// moment is a time as people read it. All are UTC: operators compare them with
// logs.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// span is a duration in its two largest units.
func span(d time.Duration) string {
	if d < 0 {
		return "−" + span(-d)
	}
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	}
	for i, u := range units {
		if n := d / u.size; n > 0 {
			text := fmt.Sprintf("%d %s", n, u.name)
			if i+1 < len(units) {
				if rest := (d % u.size) / units[i+1].size; rest > 0 {
					text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
				}
			}
			return text
		}
	}
	return d.String()
}

func bytesText(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
}

// undecided reports whether an attempt may still change.
func undecided(s onejob.State) bool { return s.Open() || s == onejob.StateDetached }
