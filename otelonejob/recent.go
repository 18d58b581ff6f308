package otelonejob

import (
	"sync"

	"github.com/onejob-go/onejob"
)

// told is what was told of an attempt.
type told struct {
	id   onejob.AttemptID
	what string
}

// recent remembers what was told last, so that a worker that repeats itself is
// counted once: an attempt that is marked unknown again, a late result that is
// brought again.
type recent struct {
	mu   sync.Mutex
	seen map[told]bool
	ring []told
	next int
}

func newRecent(n int) *recent {
	return &recent{seen: make(map[told]bool), ring: make([]told, n)}
}

// first reports whether it was not told before, as far back as is remembered.
func (r *recent) first(id onejob.AttemptID, what string) bool {
	t := told{id, what}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[t] {
		return false
	}
	delete(r.seen, r.ring[r.next])
	r.seen[t], r.ring[r.next] = true, t
	r.next = (r.next + 1) % len(r.ring)
	return true
}
