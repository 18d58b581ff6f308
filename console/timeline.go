package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// Timeline returns the picture of a job: an SVG that needs no script, a legend,
// and the same as a table. It shows what the console's own page shows: states,
// times, providers, causes, names and reasons, and no payloads. now is what
// unfinished attempts are drawn up to.
//
// It is for a page that links the console's stylesheet, assets/console.css, and
// which may forbid scripts and inline styles. All that was stored is escaped.
func Timeline(job onejob.Job, attempts []onejob.Attempt, now time.Time) template.HTML {
	var b strings.Builder
	p := jobPage{Job: job, Attempts: attempts, Picture: draw(job, attempts, now), Now: now}
	if err := templates["shared"].ExecuteTemplate(&b, "timeline", p); err != nil {
		panic("console: " + err.Error()) // of a template that is embedded and values that it fits
	}
	return template.HTML(b.String())
}

// picture is a timeline in the units of its SVG: percent across, pixels down. So
// it fits any width and its letters stay as large as they are.
type picture struct {
	ID     string // makes the IDs of its parts unique on a page
	Title  string
	Desc   []string
	Height int
	Axis   int // where the axis is
	Rows   []row
	Ticks  []tick
	// NotToScale says that long waits are drawn shorter.
	NotToScale bool
	Now        string // where now is; "" where the story is over
	Uses       map[string]bool
}

// row is the job or an attempt.
type row struct {
	Text, Bar int // where its label and its bar are
	Label     string
	Status    string
	Segments  []segment
	Deadline  string
	End       *glyph
	Late      *glyph
	Gap       *segment // from the end to what came late
	Notes     []note
}

// segment is a stretch of a bar: its class says what it looks like.
type segment struct{ X, W, Class, Title string }

type glyph struct{ X, Kind, Title string }

type note struct {
	Y    int
	Text string
}

type tick struct{ X, Anchor, Text string }

const (
	labelHeight = 18
	barHeight   = 18
	noteHeight  = 16
	rowGap      = 14
	maxLabel    = 40
	maxNote     = 44
)

func percent(share float64) string { return fmt.Sprintf("%.3f%%", 100*share) }

// draw lays the picture out.
func draw(job onejob.Job, attempts []onejob.Attempt, now time.Time) picture {
	now = notBefore(job, attempts, now)
	lines := linesOf(attempts, now)
	ax := axisOf(job, lines, now)
	p := picture{
		ID: "t" + strings.Map(idRune, string(job.ID)), Title: "Timeline of job " + string(job.ID),
		NotToScale: ax.compressed, Uses: map[string]bool{},
	}
	if ax.now {
		p.Now = percent(ax.at(now))
	}
	y := 0
	add := func(r row) {
		r.Text, r.Bar = y+13, y+labelHeight
		y += labelHeight + barHeight
		for i := range r.Notes {
			r.Notes[i].Y = y + 13
			y += noteHeight
		}
		y += rowGap
		for _, s := range r.Segments {
			p.Uses[s.Class] = true
		}
		p.Uses["deadline"] = p.Uses["deadline"] || r.Deadline != ""
		p.Uses["late"] = p.Uses["late"] || r.Late != nil
		p.Rows = append(p.Rows, r)
	}
	add(jobRow(job, ax, now))
	for _, l := range lines {
		add(l.row(ax))
	}
	p.Axis, p.Height = y, y+26
	p.Ticks = ax.ticks()
	p.Desc = describe(job, lines)
	return p
}

// notBefore is now, and not before what the rows say has happened: the store's
// clock may be ahead of this one.
func notBefore(job onejob.Job, attempts []onejob.Attempt, now time.Time) time.Time {
	now = later(later(now, job.CreatedAt), job.EndedAt)
	for _, a := range attempts {
		for _, t := range []time.Time{a.StartedAt, a.EndedAt, a.LateAt} {
			now = later(now, t)
		}
	}
	return now
}

// idRune keeps an ID one word.
func idRune(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

// jobRow is the job's own line: from its creation to its end.
func jobRow(job onejob.Job, ax axis, now time.Time) row {
	end, r := job.EndedAt, row{Label: "Job: " + short(maxLabel-5, job.Kind), Status: string(job.Status())}
	if end.IsZero() {
		end = ax.last(now)
	}
	r.Segments = []segment{ax.segment(job.CreatedAt, end, "job", "job "+string(job.Status()))}
	switch job.State {
	case onejob.JobCompleted:
		r.End = &glyph{percent(ax.at(end)), "succeeded", "job completed"}
	case onejob.JobCanceled:
		r.End = &glyph{percent(ax.at(end)), "canceled", "job canceled"}
		r.Notes = append(r.Notes, note{Text: short(maxNote, "Canceled by "+job.By+": "+job.Reason)})
	}
	return r
}
