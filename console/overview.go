package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// maxRaces bounds what a count of late results reads.
const maxRaces = 5000

const hours = 24

// counted is what the overview shows, as it was at a time.
type counted struct {
	onejob.Stats
	At       time.Time
	Races    [hours]int // late results, the oldest hour first
	RacesAll int
	More     bool // there are more than were read
}

// From is the beginning of the oldest hour.
func (c counted) From() time.Time {
	return c.At.UTC().Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
}

// bar is one hour of the picture.
type bar struct {
	X, W, Y, H string
	N          int
	From       time.Time
	Tick       bool
}

// chartHeight is in pixels, as is what stands in the template beside it.
const chartHeight = 72

// Bars are the races per hour.
func (c counted) Bars() []bar {
	most := 1
	for _, n := range c.Races {
		most = max(most, n)
	}
	bars := make([]bar, hours)
	for i, n := range c.Races {
		h := 0.0
		if n > 0 {
			h = max(float64(n)/float64(most)*chartHeight, 3)
		}
		bars[i] = bar{
			X: percent(float64(i) / hours), W: percent(0.78 / hours),
			Y: fmt.Sprintf("%.1f", 14+chartHeight-h), H: fmt.Sprintf("%.1f", h),
			N: n, From: c.From().Add(time.Duration(i) * time.Hour), Tick: i%6 == 0,
		}
	}
	return bars
}

// Most is the highest bar.
func (c counted) Most() (most int) {
	for _, n := range c.Races {
		most = max(most, n)
	}
	return most
}

type overviewPage struct {
	Counts  counted
	Counted bool // there are counts
	Age     time.Duration
	Oldest  *onejob.Entry // the doubt that has waited longest
	Now     time.Time
}

// overview asks for the oldest doubt first: it is what the page is for, and a large
// table makes it no slower. Counts come if they come in time.
func (v *view) overview() {
	ctx, cancel := v.reading()
	defer cancel()
	oldest, err := held(ctx, func() (*onejob.Entry, error) {
		for e, err := range v.op.Attempts(ctx, onejob.Filter{States: []onejob.State{onejob.StateUnknown}}) {
			return &e, err
		}
		return nil, nil
	})
	if err != nil {
		v.failed(err)
		return
	}
	n := v.counts.get(ctx, v)
	v.render(http.StatusOK, "overview", "Overview",
		overviewPage{Counts: n, Counted: !n.At.IsZero(), Age: v.now.Sub(n.At), Oldest: oldest, Now: v.now})
}
