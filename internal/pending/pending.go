// Package pending counts what goes on behind callers' backs, so that a process
// can wait for it before it ends.
package pending

import (
	"context"
	"sync"
)

// Count is how much goes on. It is no sync.WaitGroup: here things begin while
// somebody waits.
type Count struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when there is nothing; nil: nobody waits
}

// Add says that something begins.
func (p *Count) Add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

// Done says that something has ended.
func (p *Count) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// Wait returns once nothing goes on, or with the cause of ctx's end.
func (p *Count) Wait(ctx context.Context) error {
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
