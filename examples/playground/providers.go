package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The providers. Each is asked to charge for an order.
var names = []string{"honest", "slow", "silent", "liar"}

// pace is how long things take.
type pace struct {
	timeout time.Duration              // of an attempt
	think   time.Duration              // of a provider
	slow    func(stop <-chan struct{}) // returns when the slow one answers
}

// forPeople is slow enough to be seen.
func forPeople() pace {
	slow := func(stop <-chan struct{}) {
		select {
		case <-time.After(7 * time.Second):
		case <-stop:
		}
	}
	return pace{timeout: 4 * time.Second, think: 700 * time.Millisecond, slow: slow}
}

// books are what the providers really did: nobody need believe the library.
type books struct {
	mu    sync.Mutex
	pages map[string]map[string]*page // by order and provider
}

type page struct{ Asked, Executed int }

func (b *books) page(order, name string) *page {
	if b.pages == nil {
		b.pages = map[string]map[string]*page{}
	}
	if b.pages[order] == nil {
		b.pages[order] = map[string]*page{}
		for _, n := range names {
			b.pages[order][n] = &page{}
		}
	}
	return b.pages[order][name]
}

// of is what was done for an order.
func (b *books) of(order string) map[string]page {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := map[string]page{}
	for _, name := range names {
		done[name] = *b.page(order, name)
	}
	return done
}

func (b *books) asked(order, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.page(order, name).Asked++
}

// execute charges, unless it is the liar, who says so too. The receipts look alike.
func (b *books) execute(order, name string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page(order, name)
	if name != "liar" {
		p.Executed++
	}
	return fmt.Appendf(nil, `{"charged":true,"receipt":"%s-%d"}`, name, p.Asked)
}

// charge asks a provider. Only the silent one minds ctx: the answer to what it did
// is lost, and its caller's patience is all that ends the call. The others answer
// whenever they are done, also to somebody who no longer waits. Stop is for the end
// of the program.
func (b *books) charge(ctx context.Context, p pace, stop <-chan struct{}, name, order string) ([]byte, error) {
	b.asked(order, name)
	if name == "slow" {
		p.slow(stop)
		return b.execute(order, name), nil
	}
	time.Sleep(p.think)
	receipt := b.execute(order, name)
	if name == "silent" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return receipt, nil
}

// prove asks a provider a few times and looks into its books: an answer that looks
// right proves nothing.
func (b *books) prove(name string) (runs, passes int) {
	const order = "proof"
	for runs = range 3 {
		before := b.of(order)[name].Executed
		b.asked(order, name)
		b.execute(order, name)
		if b.of(order)[name].Executed == before+1 {
			passes++
		}
	}
	return runs + 1, passes
}
