package failover

import (
	"sync"
	"time"

	"github.com/onejob-go/onejob"
)

// schedule says which attempts are to be asked about again, and when. It is
// this process's own: one that starts anew asks about all.
type schedule struct {
	mu   sync.Mutex
	next map[onejob.AttemptID]moment
}

type moment struct {
	at   time.Time
	wait time.Duration
}

// The first wait, the longest, and how many attempts are remembered at most.
const (
	firstWait = 10 * time.Second
	mostWait  = time.Hour
	mostKept  = 50_000
)

func (s *schedule) due(id onejob.AttemptID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !now.Before(s.next[id].at)
}

func (s *schedule) again(id onejob.AttemptID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = map[onejob.AttemptID]moment{}
	}
	if len(s.next) >= mostKept {
		// Some, whichever: to ask about them once more does no harm, and all others
		// keep their place.
		n := mostKept / 10
		for old := range s.next {
			if delete(s.next, old); n == 0 {
				break
			}
			n--
		}
	}
	wait := min(max(firstWait, 2*s.next[id].wait), mostWait)
	s.next[id] = moment{now.Add(wait), wait}
}
