package onejob

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"time"
)

// errBatch undoes a batch in which one write failed: each then runs alone.
var errBatch = errors.New("onejob: a write of the batch failed")

// write carries w out, together with what others have to write.
func (s *SQLiteStore) write(ctx context.Context, w write) (Record, bool, error) {
	if err := s.ready(ctx); err != nil {
		return Record{}, false, err
	}
	rec, ok, err := s.writeQueued(ctx, w)
	return rec, ok, s.explained(ctx, err)
}

func (s *SQLiteStore) writeQueued(ctx context.Context, w write) (Record, bool, error) {
	if err := s.queue.enter(); err != nil {
		return Record{}, false, err
	}
	defer s.queue.leave()
	own := &queued{write: w, caller: ctx, ctx: context.WithoutCancel(ctx)}
	if own.moot != nil && s.reader != s.writer {
		own.ask = func() (bool, error) { return own.moot(ctx, &s.reads) }
	}
	if !s.keeps {
		// Before it may get the writer, under which a reader that is busy would
		// hold up everybody.
		if moot, err := own.isMoot(); err != nil || moot {
			return Record{}, false, err
		}
	}
	heard, err := s.queue.await(ctx, own)
	if err == nil && heard == mayLead {
		heard = s.leadBatch(ctx, own)
	}
	if err == nil && heard == runAlone {
		if err = s.queue.takeLead(ctx); err == nil {
			s.leadAlone(ctx, own)
		}
	}
	if err != nil {
		return Record{}, false, err
	}
	if own.err != nil {
		return Record{}, false, own.err
	}
	return own.rec, own.ok, nil
}

// isMoot asks whether there is something to write, unless the caller has asked
// before: the writer's own connection, which has read the pages already. A reader
// must read them again after each commit.
func (s *SQLiteStore) isMoot(ctx context.Context, own *queued) (moot bool, err error) {
	if own.ask == nil || own.asked {
		return false, nil
	}
	err = s.onWriter(ctx, func(ctx context.Context, _ *sql.Conn) (err error) {
		moot, err = own.moot(ctx, &ownRunner{c: &s.sql, kept: &s.kept})
		return err
	})
	return moot, err
}

// leadBatch carries out own and all that wait, in one transaction. No caller's
// context reaches a statement of it: one that is interrupted makes SQLite roll
// back the whole transaction, and what is sent then commits by itself. For the
// same reason a batch ends with the first error that is not the host's own
// refusal: it is undone, and each caller runs its write alone, which is safe
// since every write is safe to repeat.
func (s *SQLiteStore) leadBatch(ctx context.Context, own *queued) (heard verdictKind) {
	defer s.handOver()
	if moot, err := s.isMoot(ctx, own); err != nil || moot {
		own.err = err
		return isDone
	}
	if s.queue.lull() {
		// Those who have just heard of the last batch are about to come again:
		// whoever is ready to run is let by once, before the file is locked.
		// Without it every second batch is that of the one who came first, alone.
		runtime.Gosched()
	}
	b := batch{queue: s.queue, size: own.size, hooked: own.hook}
	told := runAlone // also where own panics
	defer func() { b.tell(told) }()
	err := s.leadWith(ctx, own, b.takeIn)
	s.queue.setCrowded(len(b.others) > 0)
	switch {
	case err == nil:
		told = isDone
	case len(b.others) == 0:
		own.err = err
	default:
		return runAlone
	}
	return isDone
}

// leadAlone carries out own, which has the lead, in a transaction of its own.
func (s *SQLiteStore) leadAlone(ctx context.Context, own *queued) {
	defer s.handOver()
	own.err = s.leadWith(ctx, own, func(*ownRunner) error { return nil })
}

// leadWith carries out own and then more in one transaction.
func (s *SQLiteStore) leadWith(ctx context.Context, own *queued, more func(q *ownRunner) error) error {
	latest, locked := s.queue.latest(), false
	err := s.inOwnTx(ctx, own.hook, func(_ context.Context, q *ownRunner) error {
		locked = true
		if err := own.runFirst(q); err != nil {
			return err
		}
		return more(q)
	})
	if !locked && sqliteCode(err)&0xff == 5 {
		s.queue.refuse(latest, err)
	}
	return err
}

// batch is what a leader has taken in beside its own write.
type batch struct {
	queue  *writeQueue
	others []*queued
	size   int
	hooked bool // the host's code has the transaction, and may have others'
}

// takeIn runs what waits, and what comes meanwhile, within the bounds. A leader
// that runs no host's code waits for nobody else's: who has some leads the next
// batch, for the writer goes to who has waited longest.
func (b *batch) takeIn(q *ownRunner) error {
	begin := time.Now()
	for len(b.others) < maxBatch-1 && time.Since(begin) < b.queue.maxTime {
		w := b.queue.next(b.hooked, maxBatchBytes-b.size)
		if w == nil {
			return nil
		}
		b.others = append(b.others, w)
		b.size += w.size
		if !b.runOne(w, q) {
			return errBatch
		}
	}
	return nil
}

// runOne reports whether the transaction may go on.
func (b *batch) runOne(w *queued, q *ownRunner) (sound bool) {
	if w.hook {
		t := &turn{q: q, over: make(chan bool)}
		w.told <- verdict{hasTurn, t}
		return <-t.over
	}
	// It panics again where it belongs, when its caller runs it alone.
	defer func() {
		if recover() != nil {
			sound = false
		}
	}()
	if b.hooked {
		// What the host's code left running may roll the transaction back at
		// any time: then a write of two statements must not be half of one.
		return w.inSavepoint(q) && w.err == nil
	}
	w.runIn(q)
	return w.err == nil
}

func (b *batch) tell(k verdictKind) {
	for _, w := range b.others {
		w.told <- verdict{kind: k}
	}
}
