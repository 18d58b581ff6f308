package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

// payments stands for the payment providers. It keeps its own book of who was
// asked to charge, so that the example need not believe the library.
type payments struct {
	tl    *timeline.Timeline
	mu    sync.Mutex
	calls map[onejob.JobID][]string
	count int
}

// charge is an onejob.Call. A real one sends attempt.ProviderKey as the
// provider's own idempotency key.
func (p *payments) charge(ctx context.Context, job onejob.Job, attempt onejob.Attempt) ([]byte, error) {
	number := p.called(job.ID, attempt.Provider)
	p.tl.Row(attempt.Provider, "leaves    attempt %d", attempt.Number)
	if attempt.Provider == "wallet" {
		<-ctx.Done() // no answer: charged or not?
		p.tl.Row(attempt.Provider, "no answer until the attempt's deadline")
		return nil, ctx.Err()
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(60 * time.Millisecond): // slow, so that the other clicks come meanwhile
	}
	p.tl.Row(attempt.Provider, "returns   charged")
	return fmt.Appendf(nil, `"%s-%d"`, attempt.Provider, number), nil
}

func (p *payments) called(job onejob.JobID, provider string) (number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[job] = append(p.calls[job], provider)
	p.count++
	return p.count
}

// of returns the providers that were asked to charge for the job, in order.
func (p *payments) of(job onejob.JobID) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls[job])
}
