package failover

import (
	"context"
	"sync"
)

// pending counts what goes on behind the callers' backs. It is no
// sync.WaitGroup: here things begin while somebody waits.
type pending struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when there is nothing; nil: nobody waits
}

func (p *pending) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

func (p *pending) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
	}
	idle := p.idle
	p.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wait returns once no answer is outstanding that runs did not wait for: of
// providers that have passed their deadline, and of those that lost a race. Each
// is written as it comes. Call it before the process ends, with a ctx that ends.
func (r *Runner) Wait(ctx context.Context) error { return r.late.wait(ctx) }
