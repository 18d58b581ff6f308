package onejob

import (
	"context"
	"slices"
	"sync"
	"time"
)

// How much one transaction of a SQLite store takes in, and how many may wait
// for the next one. A caller that finds no room waits outside, under its
// context.
const (
	maxBatch      = 256                   // writes
	maxBatchBytes = 4 << 20               // of their params and results
	maxBatchTime  = 50 * time.Millisecond // then nothing more is begun: other processes want the file too
	maxWaiting    = 1024
)

// writeQueue hands the writer of a SQLite store from caller to caller. Whoever
// finds it free leads: it carries its own write out, takes in those that wait,
// and commits them together. So the writes that come during one commit share
// the next one, nobody waits for company, and a lone caller hands nothing over.
type writeQueue struct {
	lead    chan struct{} // full while somebody leads
	room    chan struct{} // holds who waits
	drained chan struct{}
	maxTime time.Duration // maxBatchTime, but for tests

	mu      sync.Mutex
	waiting []*queued
	came    int64 // how many ever waited
	crowded bool  // the last leader was not alone
	inside  int
	closing bool
}

func newWriteQueue() *writeQueue {
	return &writeQueue{
		lead: make(chan struct{}, 1), room: make(chan struct{}, maxWaiting), drained: make(chan struct{}),
		maxTime: maxBatchTime,
	}
}

// write is what a caller wants written, all of it or nothing. It is safe to
// run again.
type write struct {
	size int    // of its params or result
	hook bool   // it runs the host's code
	keep func() // copies what the caller may change once it has gone
	// moot reports, without writing, whether there is nothing to write; nil:
	// there always is.
	moot func(ctx context.Context, q runner) (bool, error)
	run  func(ctx context.Context, q *ownRunner) (Record, bool, error)
}

// queued is a write that has come to the queue, and what became of it.
type queued struct {
	write
	caller context.Context
	ctx    context.Context      // the caller's values; it does not end
	number int64                // of those that waited
	ask    func() (bool, error) // a reader, whether it is moot; nil: there is none
	asked  bool
	told   chan verdict

	rec Record
	ok  bool
	err error
}

// verdict is what a caller hears of its write.
type verdict struct {
	kind verdictKind
	turn *turn
}

type verdictKind int

const (
	mayLead  verdictKind = iota // the writer is this caller's
	isDone                      // it has been carried out, or has failed
	runAlone                    // the batch was undone: take the lead, alone
	hasTurn                     // run it now, in the leader's transaction
)

// turn is a leader's transaction in the hands of another caller: the host's
// code runs on the goroutine that asked for it, so that a panic, a
// runtime.Goexit and a stack trace are where they belong.
type turn struct {
	q    *ownRunner
	over chan bool // whether the transaction may go on
}

// enter counts a caller in, until leave. After close nobody comes in.
func (q *writeQueue) enter() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing {
		return errStoreClosed
	}
	q.inside++
	return nil
}

// open refuses after close, and counts nobody: who closes the store inside a
// transaction of its own would otherwise wait for itself.
func (q *writeQueue) open() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing {
		return errStoreClosed
	}
	return nil
}

const errStoreClosed = ruleError("the store is closed")

func (q *writeQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inside--
	if q.closing && q.inside == 0 {
		close(q.drained)
	}
}

// close refuses who comes from now on, and waits for who is inside, but not
// for ever: the host's code may hold the writer.
func (q *writeQueue) close() {
	q.mu.Lock()
	if !q.closing {
		q.closing = true
		if q.inside == 0 {
			close(q.drained)
		}
	}
	q.mu.Unlock()
	bound := time.NewTimer(settleBound)
	defer bound.Stop()
	select {
	case <-q.drained:
	case <-bound.C:
	}
}

// leadNow takes the writer if it is free.
func (q *writeQueue) leadNow() bool {
	select {
	case q.lead <- struct{}{}:
		return true
	default:
		return false
	}
}

// takeLead waits for the writer. Who has given up does not get it, free or not.
func (q *writeQueue) takeLead(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.leadNow() {
		return nil
	}
	select {
	case q.lead <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *writeQueue) handOver() { <-q.lead }

// await waits until w may lead or a leader has carried it out. ctx bounds the
// wait, also where a leader has taken w in: then its fate is not known. Only a
// write that runs the host's code must stay to run it.
func (q *writeQueue) await(ctx context.Context, w *queued) (verdictKind, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if q.leadNow() {
		return mayLead, nil
	}
	ended := ctx.Done()
	select {
	case q.room <- struct{}{}:
	default:
		if moot, err := w.isMoot(); err != nil || moot {
			return isDone, err
		}
		select {
		case q.room <- struct{}{}:
		case q.lead <- struct{}{}:
			return mayLead, nil
		case <-ended:
			return 0, ctx.Err()
		}
	}
	defer func() { <-q.room }()
	if w.keep != nil {
		w.keep()
	}
	w.told = make(chan verdict, 1)
	q.add(w)
	// It looks while it waits.
	if moot, err := w.isMoot(); (err != nil || moot) && q.remove(w) {
		return isDone, err
	}
	lead := q.lead
	for {
		select {
		case v := <-w.told:
			if v.kind != hasTurn {
				return v.kind, nil
			}
			w.runInTurn(v.turn)
		case lead <- struct{}{}:
			if q.remove(w) {
				return mayLead, nil
			}
			q.handOver()
			lead = nil
		case <-ended:
			if q.remove(w) || !w.hook {
				return 0, ctx.Err()
			}
			ended = nil
		}
	}
}

// lull reports whether nobody waits although the last leader was not alone.
func (q *writeQueue) lull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.crowded && len(q.waiting) == 0
}

func (q *writeQueue) setCrowded(yes bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.crowded = yes
}

// isMoot asks a reader, once, whether there is something to write.
func (w *queued) isMoot() (bool, error) {
	if w.ask == nil || w.asked {
		return false, nil
	}
	w.asked = true
	return w.ask()
}

func (q *writeQueue) add(w *queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.came++
	w.number = q.came
	q.waiting = append(q.waiting, w)
}

// remove takes w out, and reports false where a leader has it.
func (q *writeQueue) remove(w *queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// next takes out the write that has waited longest, if it has the size, nil where
// there is none. A caller whose context has ended is left to go, and one that
// runs the host's code is left out unless hooked.
func (q *writeQueue) next(hooked bool, size int) *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w.caller.Err() != nil || w.hook && !hooked {
			continue
		}
		if w.size > size {
			return nil
		}
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return w
	}
	return nil
}

// latest is the number of the write that came last.
func (q *writeQueue) latest() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.came
}

// refuse gives those that came up to a number the error that another process's
// lock gave to who waited for it in their name: each of them would wait as long
// again, one after the other.
func (q *writeQueue) refuse(number int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && q.waiting[0].number <= number {
		w := q.waiting[0]
		q.waiting = q.waiting[1:]
		w.err = err
		w.told <- verdict{kind: isDone}
	}
}
