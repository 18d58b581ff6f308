package standby

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onejob-go/onejob"
)

const (
	owner = "o"
	hands = 8 // goroutines, and connections
	// triesUp is within how many tries an operation has its answer once there is
	// a primary again.
	triesUp = 3
)

// load is what works on the jobs, all the time.
type load struct {
	*ledger
	round  int
	seed   uint64
	ctx    context.Context
	jobs   *onejob.Jobs
	shared atomic.Int64 // the keys that all want at once
	over   atomic.Bool  // no new jobs
	up     atomic.Bool  // there is a primary again
	done   sync.WaitGroup
}

func (l *load) begin() {
	for hand := range hands {
		rng := rand.New(rand.NewPCG(l.seed, uint64(l.round*hands+hand)))
		l.done.Go(func() {
			for n := 0; !l.over.Load(); n++ {
				key := fmt.Sprintf("%d own %d %d", l.round, hand, n)
				if rng.IntN(2) == 0 {
					key = fmt.Sprintf("%d shared %d", l.round, l.shared.Add(1)/hands)
				}
				l.serve(key, hand, rng.IntN(8) == 0)
			}
		})
	}
}

// serve takes one job all the way, or as far as others let it, or leaves its
// attempt open.
func (l *load) serve(key string, hand int, leave bool) {
	var job onejob.Job
	err := l.insist(key, "Create", func() (err error) {
		job, _, err = l.jobs.Create(l.ctx, onejob.Intent{Owner: owner, Key: key, Kind: "charge"})
		return err
	})
	if err != nil {
		l.refused(key, "Create", err)
		return
	}
	l.created(key, job.ID)
	try := onejob.Try{Provider: "acme", Timeout: time.Hour}
	var a onejob.Attempt
	err = l.insist(key, "BeginAttempt", func() (err error) {
		a, err = l.jobs.BeginAttempt(l.ctx, job, try)
		var e *onejob.Error
		if errors.Is(err, onejob.ErrUnavailable) && errors.As(err, &e) {
			try.ID = e.Attempt.ID
		}
		return err
	})
	if errors.Is(err, onejob.ErrAttemptOpen) || errors.Is(err, onejob.ErrCompleted) {
		return // another hand has it
	}
	if err != nil {
		l.refused(key, "BeginAttempt", err)
		return
	}
	l.began(key, a.ID)
	if leave {
		return
	}
	result := fmt.Appendf(nil, "%s by %d", a.ID, hand)
	err = l.insist(key, "Complete", func() error {
		_, err := l.jobs.Complete(l.ctx, a, result)
		return err
	})
	if err != nil { // it was the only attempt: nothing can be in its way
		l.refused(key, "Complete", err)
		return
	}
	l.completed(key, a.ID, result)
}

// insist repeats an operation, with the same IDs, until it has an answer.
func (l *load) insist(key, op string, run func() error) error {
	tries, since := 0, 0
	for {
		up := l.up.Load()
		err := run()
		if !errors.Is(err, onejob.ErrUnavailable) {
			return err
		}
		if tries++; up {
			since++
		}
		l.doubted(key, op, tries, err)
		if since >= triesUp || l.ctx.Err() != nil {
			return fmt.Errorf("no answer in %d tries after the failover: %w", since, err)
		}
		if !up {
			time.Sleep(5 * time.Millisecond)
		}
	}
}
