package console

import (
	"slices"
	"sort"
	"time"

	"github.com/onejob-go/onejob"
)

// axis turns times into shares of the width. Between any two moments at which
// something happened there is room to see it: an attempt of ten seconds that was
// in doubt for three days would otherwise be less than a pixel.
type axis struct {
	from, to   time.Time
	knots      []time.Time
	shares     []float64 // of the knots
	compressed bool
	now        bool // the story goes on
}

const (
	room     = 0.09 // what a stretch gets at least, where there are few
	roomsAll = 0.6  // and all of them together
)

func axisOf(job onejob.Job, lines []line, now time.Time) axis {
	times := []time.Time{job.CreatedAt, job.EndedAt}
	goesOn := job.State == onejob.JobOpen
	shortest := time.Duration(0)
	for _, l := range lines {
		times = append(times, l.StartedAt, l.end, l.LateAt)
		if undecided(l.State) {
			goesOn = true
		}
		if l.State == onejob.StateStarted {
			times = append(times, l.Deadline) // it is still to come
		}
		if ran := l.ran().Sub(l.StartedAt); ran > 0 && (shortest == 0 || ran < shortest) {
			shortest = ran
		}
	}
	if goesOn {
		times = append(times, now)
	}
	times = slices.DeleteFunc(times, time.Time.IsZero)
	slices.SortFunc(times, time.Time.Compare)
	a := axis{now: goesOn}
	if len(times) == 0 {
		times = []time.Time{now}
	}
	a.from, a.to = times[0], times[len(times)-1]
	for _, l := range lines { // deadlines that passed within
		if l.Deadline.After(a.from) && l.Deadline.Before(a.to) && l.Deadline.Before(l.end) {
			times = append(times, l.Deadline)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	a.knots = slices.CompactFunc(times, time.Time.Equal)
	if len(a.knots) == 1 {
		a.to = a.from.Add(time.Second)
		a.knots = append(a.knots, a.to)
	}
	a.lay(shortest)
	return a
}

// lay gives each stretch a room of its own and shares out what is left by time,
// unless time alone leaves room enough. Stretches that are short beside the
// shortest run (a job's creation and its first attempt) need none.
func (a *axis) lay(shortest time.Duration) {
	n := len(a.knots) - 1
	total := a.to.Sub(a.from).Seconds()
	least := min(room, roomsAll/float64(n))
	rooms, sum := make([]float64, n), 0.0
	for i := range n {
		d := a.knots[i+1].Sub(a.knots[i])
		rooms[i] = least
		if shortest > 0 && d < shortest/5 {
			rooms[i] *= 5 * d.Seconds() / shortest.Seconds()
		}
		if d.Seconds()/total < rooms[i]/6 {
			a.compressed = true
		}
		sum += rooms[i]
	}
	a.shares = []float64{0}
	at := 0.0
	for i := range n {
		share := a.knots[i+1].Sub(a.knots[i]).Seconds() / total
		if a.compressed {
			share = rooms[i] + (1-sum)*share
		}
		at += share
		a.shares = append(a.shares, min(at, 1))
	}
	a.shares[n] = 1
}

// at is where a time is, from 0 to 1.
func (a axis) at(t time.Time) float64 {
	i := sort.Search(len(a.knots), func(i int) bool { return !a.knots[i].Before(t) })
	switch {
	case i == 0:
		return 0
	case i == len(a.knots):
		return 1
	}
	before, after := a.knots[i-1], a.knots[i]
	part := t.Sub(before).Seconds() / after.Sub(before).Seconds()
	return a.shares[i-1] + part*(a.shares[i]-a.shares[i-1])
}

// last is now, or the end of the picture where now is not on it.
func (a axis) last(now time.Time) time.Time {
	if a.now && now.Before(a.to) {
		return now
	}
	return a.to
}

func (a axis) segment(from, to time.Time, class, title string) segment {
	x := a.at(from)
	return segment{percent(x), percent(max(a.at(to)-x, 0.004)), class, title}
}

// ticks are at round times, or, where the axis is not to scale, where something
// happened and there is room to say when.
func (a axis) ticks() []tick {
	times := a.knots
	if !a.compressed {
		times = a.round()
	}
	const apart = 0.2
	var ticks []tick
	last := -1.0
	for i, t := range times {
		x := a.at(t)
		end := i == len(times)-1 && a.compressed
		if x-last < apart && !end || !end && a.compressed && 1-x < apart && i > 0 {
			continue
		}
		anchor := "middle"
		if x < 0.08 {
			anchor = "start"
		} else if x > 0.92 {
			anchor = "end"
		}
		text := "+" + span(t.Sub(a.from))
		if t.Equal(a.from) {
			text = "0"
		}
		ticks = append(ticks, tick{percent(x), anchor, text})
		last = x
	}
	return ticks
}

// steps are what people count time by.
var steps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

func (a axis) round() []time.Time {
	total := a.to.Sub(a.from)
	step := max(total/4, time.Microsecond)
	for _, s := range steps {
		if total/s <= 4 {
			step = s
			break
		}
	}
	var times []time.Time
	for t := a.from; !t.After(a.to); t = t.Add(step) {
		times = append(times, t)
	}
	return times
}
