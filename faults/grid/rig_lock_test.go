package grid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onejob-go/onejob/internal/faultproxy"
)

// waiting has another session hold what the call waits for, and breaks the
// call while it waits. Then the lock is released: on the server the statement
// is still there and runs, late, beside what the caller does next.
func waiting(cut func(*rig)) func(*trial) (answer, error) {
	return func(tr *trial) (answer, error) {
		r, err := tr.rig()
		if err != nil {
			return answer{}, err
		}
		defer r.close()
		held := make(chan *sql.Tx, 1)
		if tr.op.skip == 0 {
			tx, err := tr.hold()
			if err != nil {
				return answer{}, err
			}
			held <- tx
		} else {
			r.holdAfter(tr.op.skip, held)
		}
		done := r.start()
		blocked := r.waitBlocked(done)
		if !blocked {
			release(held)
			a, err := r.await(done)
			return a, errors.Join(err, fmt.Errorf("the call never waited for the lock: %v", a))
		}
		cut(r)
		tr.tell("%s while it waited", tr.fault.column())
		release(held)
		return r.await(done)
	}
}

func release(held chan *sql.Tx) {
	select {
	case tx := <-held:
		if tx != nil {
			_ = tx.Rollback()
		}
	default:
	}
}

// holdAfter takes the lock after some of the call's commits, before it hears
// of the last of them.
func (r *rig) holdAfter(commits int, held chan *sql.Tx) {
	var seen atomic.Int32
	r.proxy.Decide(func(at faultproxy.Point) faultproxy.Fault {
		if at == faultproxy.AfterCommit && int(seen.Add(1)) == commits {
			tx, err := r.tr.hold()
			r.tr.tell("the lock was taken: %v", err)
			held <- tx
		}
		return faultproxy.Fault{}
	})
}

// hold takes what the operation waits for. What skips locked rows waits for a
// locked table.
func (tr *trial) hold() (*sql.Tx, error) {
	tx, err := tr.db.Begin()
	if err != nil {
		return nil, err
	}
	switch {
	case tr.op.fresh:
		_, _, err = tr.host(tr.op, newWorld(tr.dir, tr.name), tr.logger()).jobs.
			CreateTx(context.Background(), tx, tr.w.intent(""))
	case tr.op.global:
		_, err = tx.Exec(`LOCK TABLE onejob.jobs, onejob.attempts IN EXCLUSIVE MODE`)
	default:
		_, err = tx.Exec(`SELECT 1 FROM onejob.jobs WHERE owner = $1 FOR UPDATE`, tr.w.Owner)
	}
	if err != nil {
		_ = tx.Rollback()
	}
	return tx, err
}

// waitBlocked waits until the call waits for the lock. It reports false if the
// call needed no lock, or gave up first.
func (r *rig) waitBlocked(done <-chan answer) bool {
	for end := time.Now().Add(patience); len(done) == 0 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if r.blocked() > 0 {
			return true
		}
	}
	return false
}

func (r *rig) blocked() (n int) {
	_ = r.tr.db.QueryRow(`SELECT count(*) FROM pg_stat_activity
		WHERE application_name = $1 AND wait_event_type = 'Lock'`, r.tr.name).Scan(&n)
	return n
}

// cancelWaiting ends the context, and leaves the server the time to refuse the
// statement for it.
func (r *rig) cancelWaiting() {
	var pids string
	who := func() (now string) {
		_ = r.tr.db.QueryRow(`SELECT coalesce(string_agg(pid::text, ','), '') FROM pg_stat_activity
			WHERE application_name = $1 AND wait_event_type = 'Lock'`, r.tr.name).Scan(&now)
		return now
	}
	pids = who()
	r.cancel()
	for end := time.Now().Add(5 * time.Second); who() == pids && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}
