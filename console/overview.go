package console

import (
	"context"
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

// counts keep the last counting, and let one at a time count anew.
type counts struct {
	turn chan struct{} // a mutex that is not waited for longer than a page may take
	last counted
}

// get waits for a counting that is under way: a second one would make the
// database no faster.
func (c *counts) get(ctx context.Context, v *view) (counted, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return counted{}, ctx.Err()
	}
	if age := v.now.Sub(c.last.At); !c.last.At.IsZero() && age >= 0 && age < v.o.CountEvery {
		return c.last, nil
	}
	stats, err := v.op.Stats(ctx)
	if err != nil {
		return counted{}, err
	}
	n := counted{Stats: stats, At: v.now}
	// Hours by the clock, so that a bar is the same hour at each look.
	from := v.now.UTC().Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	for e, err := range v.op.Attempts(ctx, onejob.Filter{Late: true, LateSince: from}) {
		switch {
		case err != nil:
			return counted{}, err
		case n.RacesAll == maxRaces:
			n.More = true
		default:
			hour := min(max(int(e.Attempt.LateAt.Sub(from)/time.Hour), 0), hours-1)
			n.Races[hour]++
			n.RacesAll++
		}
		if n.More {
			break
		}
	}
	c.last = n
	return n, nil
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
	Counts counted
	Age    time.Duration
	Oldest *onejob.Entry // the doubt that has waited longest
	Now    time.Time
}

func (v *view) overview() {
	ctx, cancel := v.reading()
	defer cancel()
	n, err := v.counts.get(ctx, v)
	if err != nil {
		v.failed(err)
		return
	}
	p := overviewPage{Counts: n, Age: v.now.Sub(n.At), Now: v.now}
	for e, err := range v.op.Attempts(ctx, onejob.Filter{States: []onejob.State{onejob.StateUnknown}}) {
		if err != nil {
			v.failed(err)
			return
		}
		p.Oldest = &e
		break
	}
	v.render(http.StatusOK, "overview", "Overview", p)
}
