package grid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

func sqliteFaults() []*fault {
	return []*fault{
		{group: "context", name: "before the call", inflict: hooked(nil, func(b *bench) { b.cancel() })},
		{group: "context", name: "before commit", inflict: hooked(func(b *bench) {
			b.hook.before = func() error { b.cancel(); return nil }
		}, nil)},
		{group: "context", name: "after commit", inflict: hooked(func(b *bench) {
			b.hook.after = func() error { b.cancel(); return nil }
		}, nil)},
		{group: "context", name: "at a random moment", races: true, inflict: hooked(nil, func(b *bench) {
			moment := time.Duration(b.tr.rand.Int64N(int64(3 * time.Millisecond)))
			b.tr.tell("the context ends after %v", moment)
			time.AfterFunc(moment, b.cancel)
		})},
		{group: "kill -9", name: "before commit", child: true, kills: true, inflict: killedAtCommit(order{Before: true})},
		{group: "kill -9", name: "after commit", child: true, kills: true, inflict: killedAtCommit(order{After: true})},
		{group: "BUSY", name: "before commit", away: true, inflict: busy},
		{group: "BUSY", name: "after commit", missing: because("BUSY is the answer to whoever waits for a lock, and after COMMIT nothing waits")},
		{group: "FULL", name: "before commit", away: true, inflict: full},
		{group: "FULL", name: "after commit", missing: because("COMMIT has its pages by then; a checkpoint that finds the disk full is left for later and fails nobody")},
		{group: "I/O error", name: "before commit", inflict: hooked(failing(true, false), nil)},
		{group: "I/O error", name: "before each commit", away: true, inflict: hooked(failing(true, true), nil)},
		{group: "I/O error", name: "after commit", inflict: hooked(failing(false, false), nil)},
		{group: "I/O error", name: "after each commit", away: true, inflict: hooked(failing(false, true), nil)},
		{group: "stop", name: "before commit", child: true, stops: true, inflict: stoppedAtCommit(order{Before: true})},
		{group: "stop", name: "after commit", child: true, stops: true, inflict: stoppedAtCommit(order{After: true})},
	}
}

// bench is a host on a file whose driver does what it is told.
type bench struct {
	tr     *trial
	pools  *pools
	hook   *commitHook
	h      *host
	ctx    context.Context
	cancel context.CancelFunc
}

func (tr *trial) bench(busy time.Duration) (*bench, error) {
	b := &bench{tr: tr, hook: &commitHook{skip: tr.op.skip}}
	var err error
	if b.pools, err = openSQLite(tr.address, "FULL", busy, b.hook); err != nil {
		return nil, err
	}
	b.h = newHost(b.pools.store, b.pools.writer, question, tr.op, tr.w, tr.logger())
	b.ctx, b.cancel = context.WithCancel(context.Background())
	warm(b.h)
	return b, nil
}

func (b *bench) close() {
	b.cancel()
	b.pools.close()
}

func (b *bench) call() (answer, error) {
	done := make(chan answer, 1)
	go func() { done <- answerOf(b.tr.op, b.tr.op.run(b.ctx, b.h)) }()
	select {
	case a := <-done:
		return a, nil
	case <-time.After(patience):
		return answer{}, errors.New("the call hangs")
	}
}

// hooked makes the call with a hook at COMMIT, or with something that happens
// when it begins.
func hooked(hang, begin func(*bench)) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		b, err := tr.bench(5 * time.Second)
		if err != nil {
			return answer{}, err
		}
		defer b.close()
		if hang != nil {
			hang(b)
		}
		if begin != nil {
			begin(b)
		}
		b.hook.arm()
		a, err := b.call()
		tr.tell("%s, at commit %d", tr.fault.column(), tr.op.skip+1)
		if err == nil && hang != nil && b.hook.happened.Load() == 0 {
			err = fmt.Errorf("the fault did not happen: %v", a)
		}
		return a, err
	}
}

// ioError is what SQLite says when a write to the disk failed.
type ioError struct{}

func (ioError) Error() string { return "disk I/O error" }

// Code is SQLITE_IOERR_WRITE.
func (ioError) Code() int { return 10 | 3<<8 }

func failing(before, stays bool) func(*bench) {
	return func(b *bench) {
		fail := func() error { return ioError{} }
		b.hook.stays = stays
		if before {
			b.hook.before = fail
		} else {
			b.hook.after = fail
		}
	}
}

// busy has another connection hold the write lock for longer than the call
// waits.
func busy(tr *trial) (answer, error) {
	b, err := tr.bench(20 * time.Millisecond)
	if err != nil {
		return answer{}, err
	}
	defer b.close()
	held := make(chan *sql.Tx, 1)
	take := func() error {
		tx, err := tr.db.Begin() // IMMEDIATE
		held <- tx
		return err
	}
	if tr.op.skip == 0 {
		err = take()
	} else {
		b.hook.skip = tr.op.skip - 1
		b.hook.after = take
		b.hook.arm()
	}
	if err != nil {
		return answer{}, err
	}
	a, err := b.call()
	tr.tell("another held the write lock until the call had returned")
	if tx := <-held; tx != nil {
		_ = tx.Rollback()
	}
	return a, err
}

// full has the file reach its limit: each change of the library's tables
// brings a host's row of several pages with it.
func full(tr *trial) (answer, error) {
	b, err := tr.bench(5 * time.Second)
	if err != nil {
		return answer{}, err
	}
	defer b.close()
	statements := []string{"CREATE TABLE filler (b BLOB)"}
	for _, table := range []string{"jobs", "attempts"} {
		for _, change := range []string{"INSERT", "UPDATE"} {
			statements = append(statements, fmt.Sprintf(`CREATE TRIGGER filler_%[1]s_%[2]s AFTER %[2]s ON onejob_%[1]s
				BEGIN INSERT INTO filler VALUES (zeroblob(20000)); END`, table, change))
		}
	}
	if tr.op.rows > 0 && tr.op.versions == 0 {
		statements = append(statements, `CREATE TRIGGER filler_host AFTER INSERT ON host
			BEGIN INSERT INTO filler VALUES (zeroblob(20000)); END`)
	}
	for _, s := range statements {
		if _, err := b.pools.writer.Exec(s); err != nil {
			return answer{}, err
		}
	}
	const limit = "PRAGMA max_page_count = 1" // it cannot go below what there is
	if tr.op.skip == 0 {
		_, err = b.pools.writer.Exec(limit)
	} else {
		b.hook.skip = tr.op.skip - 1
		b.hook.after = func() error { _, err := b.hook.conn.ExecContext(b.ctx, limit, nil); return err }
		b.hook.arm()
	}
	if err != nil {
		return answer{}, err
	}
	a, err := b.call()
	tr.tell("the file had reached its limit")
	if err == nil && a.told == toldDone {
		err = fmt.Errorf("the disk was not full: %v", a)
	}
	return a, err
}
