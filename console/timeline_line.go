package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// line is an attempt as a stretch of time. The rows keep when it began, its
// deadline, its end and its late result; when it came to be in doubt or was
// detached they do not keep, so that is told as far as it follows.
type line struct {
	onejob.Attempt
	end      time.Time // its last moment, or now
	unknown  time.Time // in doubt from here; zero: never, for all that is known
	detached time.Time // detached here at the latest; zero: not
}

// linesOf takes attempts by number.
func linesOf(attempts []onejob.Attempt, now time.Time) []line {
	lines := make([]line, len(attempts))
	for i, a := range attempts {
		l := line{Attempt: a, end: a.EndedAt}
		if l.end.IsZero() {
			l.end = later(now, a.StartedAt)
		}
		// One that is open refuses the next: where there is a next one before its
		// end, it was detached before that began.
		if i+1 < len(attempts) && attempts[i+1].StartedAt.Before(l.end) {
			l.detached = later(attempts[i+1].StartedAt, a.StartedAt)
		} else if a.State == onejob.StateDetached {
			l.detached = a.StartedAt
			if a.Deadline.Before(l.end) { // until then its call ran, detached or not
				l.detached = a.Deadline
			}
		}
		l.unknown = l.doubt()
		lines[i] = l
	}
	return lines
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// doubt is when it was in doubt at the latest: one whose call left a doubt was so
// before.
func (l line) doubt() time.Time {
	until := l.end
	if !l.detached.IsZero() {
		until = l.detached
	}
	if l.Deadline.Before(until) {
		return l.Deadline
	}
	return time.Time{}
}

// ran is until when it was under way and neither in doubt nor detached.
func (l line) ran() time.Time {
	until := l.end
	for _, t := range []time.Time{l.unknown, l.detached} {
		if !t.IsZero() && t.Before(until) {
			until = t
		}
	}
	return until
}

// row lays it out.
func (l line) row(ax axis) row {
	r := row{Label: fmt.Sprintf("%d · %s", l.Number, short(maxLabel-6, l.Provider)), Status: string(l.State)}
	at := l.StartedAt
	stretch := func(to time.Time, class, title string) {
		if to.After(at) || class == l.runs() && len(r.Segments) == 0 && l.end.Equal(at) {
			r.Segments = append(r.Segments, ax.segment(at, to, class, title))
			at = to
		}
	}
	running := "running"
	if l.runs() == "unsure" {
		running = "running, then in doubt: since when is not stored"
	}
	stretch(l.ran(), l.runs(), running)
	if !l.unknown.IsZero() {
		until := l.end
		if !l.detached.IsZero() {
			until = l.detached
		}
		stretch(until, "unknown", "in doubt")
	}
	if !l.detached.IsZero() {
		stretch(l.end, "detached", "detached")
	}
	if !l.Deadline.After(ax.to) {
		r.Deadline = percent(ax.at(l.Deadline))
	}
	if !undecided(l.State) && l.State != onejob.StateLate {
		r.End = &glyph{percent(ax.at(l.end)), string(l.State), string(l.State)}
	}
	if !l.LateAt.IsZero() {
		r.Late = &glyph{percent(ax.at(l.LateAt)), "late", "came late, thrown away"}
		if l.LateAt.After(l.end) {
			gap := ax.segment(l.end, l.LateAt, "gap", "")
			r.Gap = &gap
		}
		r.Notes = append(r.Notes, note{Text: fmt.Sprintf("Late: %s thrown away · SHA-256 %x…", bytesText(l.LateSize), l.LateDigest[:3])})
	}
	if l.By != "" {
		r.Notes = append(r.Notes, note{Text: short(maxNote, decidedBy(l.Attempt)+" "+l.By+": "+l.Reason)})
	}
	r.Notes = append(r.Notes, l.unkept()...)
	return r
}

// runs is what its running stretch looks like: it tells how it ended.
func (l line) runs() string {
	switch {
	case l.State == onejob.StateSucceeded:
		return "won"
	case !undecided(l.State):
		return "lost"
	case l.doubted():
		return "unsure"
	}
	return "running"
}

// doubted reports whether its call left a doubt: by its cause or, where it gave
// none, by being in doubt before the deadline.
func (l line) doubted() bool {
	return doubted(l.Attempt) || l.State == onejob.StateUnknown && l.Deadline.After(l.end)
}

// unkept says what the picture cannot show.
func (l line) unkept() (notes []note) {
	if l.doubted() {
		text := "In doubt since a time that is not stored"
		if !undecided(l.State) {
			text = "Was in doubt since a time that is not stored"
		}
		notes = append(notes, note{Text: text})
	}
	if !l.detached.IsZero() {
		notes = append(notes, note{Text: "Detached at a time that is not stored"})
	}
	return notes
}

// describe is the picture in sentences.
func describe(job onejob.Job, lines []line) []string {
	text := []string{fmt.Sprintf("The job was created %s and is %s.", moment(job.CreatedAt), job.Status())}
	if len(lines) == 0 {
		text = append(text, "Nothing was tried yet.")
	}
	for _, l := range lines {
		var b strings.Builder
		fmt.Fprintf(&b, "Attempt %d by %s began %s", l.Number, short(maxLabel, l.Provider), moment(l.StartedAt))
		if l.doubted() {
			b.WriteString(", left a doubt at a time that is not stored")
		} else if !l.unknown.IsZero() {
			fmt.Fprintf(&b, ", was in doubt since %s", moment(l.unknown))
		}
		if !l.detached.IsZero() {
			b.WriteString(", was detached")
		}
		switch {
		case l.State == onejob.StateSucceeded:
			fmt.Fprintf(&b, ", and won %s", moment(l.end))
		case !undecided(l.State):
			fmt.Fprintf(&b, ", and was %s %s", l.State, moment(l.end))
		default:
			fmt.Fprintf(&b, ", and is %s", l.State)
		}
		if !l.LateAt.IsZero() {
			fmt.Fprintf(&b, "; a result of %s came late %s and was thrown away", bytesText(l.LateSize), moment(l.LateAt))
		}
		text = append(text, b.String()+".")
	}
	return text
}
