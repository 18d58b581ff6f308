package onejob

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxLook is how many jobs are looked at by one statement.
	maxLook = 1000
	// maxHinted is how many are read one by one before the next look.
	maxHinted = 100
	// How many looks may be under way at once. One poll is the rule; another
	// begins beside one that got no answer in time, for a connection that hangs
	// must not keep the others waiting, and drivers mind no context there. What
	// somebody has told of is read beside the poll.
	maxPolls, maxReads = 3, 4
)

// waitRoom is where the callers of Wait sit, by the job they wait for. One
// goroutine serves them while there are any.
type waitRoom struct {
	taken  atomic.Int64 // seats, so that nobody pays for a room that is empty
	mu     sync.Mutex
	jobs   map[JobID]*waited
	last   int64 // number of the seat that was taken last
	served bool
	wake   chan struct{} // cuts the pause between two looks short
}

type waited struct {
	seats  []*seat
	since  time.Time // when the youngest sat down
	next   time.Time // when to look
	hinted bool
}

type seat struct {
	id     JobID
	number int64
	answer chan waitAnswer
}

type waitAnswer struct {
	job Job
	err error
}

func (r *waitRoom) enter(id JobID) *seat {
	r.taken.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	s := &seat{id, r.last, make(chan waitAnswer, 1)}
	if r.jobs == nil {
		r.jobs, r.wake = map[JobID]*waited{}, make(chan struct{}, 1)
	}
	w := r.jobs[id]
	if w == nil {
		w = &waited{}
		r.jobs[id] = w
	}
	w.seats = append(w.seats, s)
	w.since = time.Now()
	// Never later than it was: others sit here already.
	if next := nextLook(w.since, w.since); len(w.seats) == 1 || next.Before(w.next) {
		w.next = next
	}
	return s
}

func (r *waitRoom) leave(s *seat) {
	r.taken.Add(-1)
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.jobs[s.id]
	if w == nil {
		return // it was told
	}
	if i := slices.Index(w.seats, s); i >= 0 {
		w.seats = slices.Delete(w.seats, i, i+1)
	}
	if len(w.seats) > 0 {
		return
	}
	delete(r.jobs, s.id)
	if len(r.jobs) == 0 {
		r.rouse() // to go home
	}
}

// hint has the job looked at now; an empty one, all of them.
func (r *waitRoom) hint(id JobID) {
	if r.taken.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == "" {
		for _, w := range r.jobs {
			w.next = time.Time{}
		}
	} else if w := r.jobs[id]; w != nil {
		w.hinted = true
	} else {
		return
	}
	r.rouse()
}

func (r *waitRoom) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// serve sees to it that somebody looks.
func (r *waitRoom) serve(look func(hinted, due []JobID, asOf int64)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.served {
		r.rouse() // the newcomer's look may be the next
		return
	}
	r.served = true
	go r.run(look)
}

func (r *waitRoom) run(look func(hinted, due []JobID, asOf int64)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var reads, polls int   // under way
	var lastPoll time.Time // when the last one began
	read, polled := make(chan struct{}, maxReads), make(chan struct{}, maxPolls)
	for {
		now := time.Now()
		stuck := polls > 0 && now.Sub(lastPoll) < settleBound || polls == maxPolls
		p := r.pick(now, reads < maxReads, !stuck)
		if p.home {
			return
		}
		if len(p.hinted) > 0 {
			reads++
			go func() { look(p.hinted, nil, p.asOf); read <- struct{}{} }()
		}
		if len(p.due) > 0 {
			polls, lastPoll = polls+1, now
			go func() { look(nil, p.due, p.asOf); polled <- struct{}{} }()
		}
		if len(p.hinted)+len(p.due) > 0 {
			continue
		}
		if stuck {
			p.next = now.Add(settleBound)
		}
		pause.Reset(time.Until(p.next))
		select {
		case <-pause.C:
		case <-r.wake:
		case <-read:
			reads--
		case <-polled:
			polls--
		}
	}
}

// picked is what to look at.
type picked struct {
	hinted []JobID   // of which somebody has told, at most maxHinted
	due    []JobID   // whose time has come, at most maxLook
	asOf   int64     // the last seat that the look is for
	next   time.Time // when the next is due
	home   bool      // nobody waits
}

func (r *waitRoom) pick(now time.Time, read, poll bool) (p picked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.jobs) == 0 {
		r.served = false
		p.home = true
		return p
	}
	p.asOf = r.last
	for id, w := range r.jobs {
		if w.hinted && read && len(p.hinted) < maxHinted {
			w.hinted = false
			p.hinted = append(p.hinted, id)
			continue
		}
		if poll && !w.next.After(now) && len(p.due) < maxLook {
			w.next = nextLook(now, w.since)
			p.due = append(p.due, id)
			continue
		}
		if p.next.IsZero() || w.next.Before(p.next) {
			p.next = w.next
		}
	}
	return p
}

// tell ends the wait of those who wait for the job, up to the seat asOf. Who came
// while the store was asked may have seen something newer than its answer, such
// as an attempt refuted since: the job is looked at again for them. Each gets
// bytes of its own.
func (r *waitRoom) tell(id JobID, asOf int64, job Job, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.jobs[id]
	if w == nil {
		return
	}
	var later []*seat
	for _, s := range w.seats {
		if s.number > asOf {
			later = append(later, s)
			continue
		}
		own := job // receivers may write into theirs at once
		own.Params, own.Result = bytes.Clone(job.Params), bytes.Clone(job.Result)
		if job.Attempt != nil {
			a := *job.Attempt
			own.Attempt = &a
		}
		s.answer <- waitAnswer{own, err}
	}
	if w.seats, w.hinted = later, true; len(later) == 0 {
		delete(r.jobs, id)
	}
}
