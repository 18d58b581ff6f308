package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/onejob-go/onejob"
)

// bank is the client of the payment provider.
type bank interface {
	// Charge takes the money and returns the receipt. Asked again with the same
	// key it returns the same receipt. A slow one is sent to the webhook of the
	// attempt. Only errRefused says that nothing happened.
	Charge(ctx context.Context, key string, callback onejob.AttemptID, order []byte) (receipt []byte, err error)
	// Find returns the receipt of the charge with the key, or errNoCharge.
	Find(ctx context.Context, key string) (receipt []byte, err error)
}

var (
	errRefused  = errors.New("the bank refused the request")
	errNoCharge = errors.New("the bank knows of no such charge")
)

// memoryBank keeps its own books, so that nobody need believe the library.
type memoryBank struct {
	mu       sync.Mutex
	receipts map[string][]byte // by key
	asked    []onejob.AttemptID
	// then is what comes between the charge and the answer; nil is nothing.
	then func(ctx context.Context) error
}

// Charge implements bank.
func (b *memoryBank) Charge(ctx context.Context, key string, callback onejob.AttemptID, _ []byte) ([]byte, error) {
	receipt, then := b.enter(key, callback)
	if then != nil {
		if err := then(ctx); err != nil {
			return nil, err
		}
	}
	return receipt, nil
}

func (b *memoryBank) enter(key string, callback onejob.AttemptID) ([]byte, func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, callback)
	if b.receipts == nil {
		b.receipts = map[string][]byte{}
	}
	if b.receipts[key] == nil {
		b.receipts[key] = fmt.Appendf(nil, `"receipt %d"`, len(b.receipts)+1)
	}
	return b.receipts[key], b.then
}

// Find implements bank.
func (b *memoryBank) Find(_ context.Context, key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if receipt := b.receipts[key]; receipt != nil {
		return receipt, nil
	}
	return nil, errNoCharge
}

// calls returns who was charged for, in order.
func (b *memoryBank) calls() []onejob.AttemptID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]onejob.AttemptID(nil), b.asked...)
}

// answers sets what comes between a charge and its answer.
func (b *memoryBank) answers(then func(ctx context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.then = then
}
