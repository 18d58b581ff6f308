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
	maxPolls, maxReads = 3, 2
)

// waitRoom is where the callers of Wait sit, by the job they wait for. One
// goroutine serves them while there are any.
type waitRoom struct {
	taken  atomic.Int64 // seats, so that nobody pays for a room that is empty
	mu     sync.Mutex
	jobs   map[JobID]*waited
	last   int64 // number of the seat that was taken last
	served bool

	// The looks under way, also those that hang while nobody waits any more.
	reads, polls int
	lastPoll     time.Time
	wake         chan struct{} // cuts the pause between two looks short
}

type waited struct {
	seats  []*seat
	since  time.Time // when the youngest sat down
	next   time.Time // when to look
	hinted bool
}

type seat struct {
	id     JobID
	number int64 // in the order of first looks; 0: it has not had its own yet
	missed bool  // somebody was told before that
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
	s := &seat{id: id, answer: make(chan waitAnswer, 1)}
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

// serve sees to it that somebody looks, for a seat that has had its own first
// look: what was read before that is not for it.
func (r *waitRoom) serve(s *seat, look func(hinted, due []JobID, asOf int64)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	s.number = r.last
	if w := r.jobs[s.id]; w != nil && s.missed {
		w.hinted = true
	}
	r.rouse() // the newcomer's look may be the next
	if !r.served {
		r.served = true
		go r.run(look)
	}
}

func (r *waitRoom) run(look func(hinted, due []JobID, asOf int64)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		p := r.pick(time.Now())
		if p.home {
			return
		}
		if len(p.hinted) > 0 {
			go func() {
				defer r.looked(&r.reads)
				look(p.hinted, nil, p.asOf)
			}()
		}
		if len(p.due) > 0 {
			go func() {
				defer r.looked(&r.polls)
				look(nil, p.due, p.asOf)
			}()
		}
		if len(p.hinted)+len(p.due) > 0 {
			continue
		}
		pause.Reset(time.Until(p.next))
		select {
		case <-pause.C:
		case <-r.wake:
		}
	}
}

func (r *waitRoom) looked(kind *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*kind--
	r.rouse()
}

// picked is what to look at.
type picked struct {
	hinted []JobID   // of which somebody has told, at most maxHinted
	due    []JobID   // whose time has come, at most maxLook
	asOf   int64     // the last seat that the look is for
	next   time.Time // when the next is due
	home   bool      // nobody waits
}

func (r *waitRoom) pick(now time.Time) (p picked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.jobs) == 0 {
		r.served = false
		p.home = true
		return p
	}
	p.asOf = r.last
	mayPoll := r.polls == 0 || r.polls < maxPolls && now.Sub(r.lastPoll) >= settleBound
	for id, w := range r.jobs {
		switch {
		case w.hinted && r.reads < maxReads && len(p.hinted) < maxHinted:
			w.hinted = false
			p.hinted = append(p.hinted, id)
		case mayPoll && !w.next.After(now) && len(p.due) < maxLook:
			w.next = nextLook(now, w.since)
			p.due = append(p.due, id)
		case p.next.IsZero() || w.next.Before(p.next):
			p.next = w.next
		}
	}
	if len(p.hinted) > 0 {
		r.reads++
	}
	switch {
	case len(p.due) > 0:
		r.polls++
		r.lastPoll = now
	case !mayPoll && r.polls < maxPolls:
		p.next = r.lastPoll.Add(settleBound)
	case !mayPoll:
		p.next = now.Add(settleBound) // or when one of them ends
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
		switch {
		case s.number == 0:
			s.missed = true
			later = append(later, s)
		case s.number > asOf:
			w.hinted = true
			later = append(later, s)
		default:
			own := job // receivers may write into theirs at once
			own.Params, own.Result = bytes.Clone(job.Params), bytes.Clone(job.Result)
			own.Attempt = ownAttempt(job.Attempt)
			s.answer <- waitAnswer{own, ownError(err)}
		}
	}
	w.seats = later
	if len(later) == 0 {
		delete(r.jobs, id)
	}
	r.rouse()
}

// ownError is the error for one of several who get it.
func ownError(err error) error {
	if e, ok := err.(*Error); ok {
		own := *e
		return &own
	}
	return err
}
