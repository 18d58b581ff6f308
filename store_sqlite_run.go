package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// execer is what a statement needs: a connection, a pool, a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// stopped reads the clock once, for a whole operation: with two readings, an
// attempt could be overdue in the very statement after the one that began it.
// It is called behind the lock, for which the operation may have waited.
func stopped(clock func() time.Time) func() time.Time {
	now := clock()
	return func() time.Time { return now }
}

// one reads a row, and reports whether there was one.
func one(ctx context.Context, q runner, dest []any, statement string, args ...any) (bool, error) {
	rows, err := q.query(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	found := rows.Next()
	if found {
		err = rows.Scan(dest...)
	}
	err = drain(rows, err)
	return found && err == nil, err
}

// alone runs fn in a transaction of its own on the writer. ctx bounds the wait
// for the writer only.
func (s *SQLiteStore) alone(ctx context.Context, fn func(ctx context.Context, q executor) error) error {
	return s.exclusive(ctx, func() error {
		return s.inOwnTx(ctx, false, func(ctx context.Context, q *ownRunner) error { return fn(ctx, q) })
	})
}

// exclusive runs fn while no other write of this store runs.
func (s *SQLiteStore) exclusive(ctx context.Context, fn func() error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.explained(ctx, s.locked(ctx, fn))
}

// locked is exclusive, also where there are no tables yet.
func (s *SQLiteStore) locked(ctx context.Context, fn func() error) error {
	if err := s.queue.enter(); err != nil {
		return err
	}
	defer s.queue.leave()
	return s.leading(ctx, fn)
}

// leading runs fn while the caller leads.
func (s *SQLiteStore) leading(ctx context.Context, fn func() error) error {
	if err := s.queue.takeLead(ctx); err != nil {
		return err
	}
	defer s.handOver()
	return fn()
}

// immediately runs fn in a transaction that was begun IMMEDIATE, where there
// are perhaps no tables yet.
func (s *SQLiteStore) immediately(ctx context.Context, fn func(ctx context.Context, q execer) error) error {
	return s.onWriter(ctx, func(ctx context.Context, conn *sql.Conn) (err error) {
		// A deferred transaction that reads and then writes fails when another
		// process wrote in between.
		if _, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		committed := false
		defer func() {
			if !committed {
				s.rollback(ctx, conn)
			}
		}()
		if err = fn(ctx, conn); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, "COMMIT")
		committed = err == nil
		return err
	})
}

// rollback ends what may be left of a transaction. SQLite has ended it itself
// after some errors; then ROLLBACK fails. A connection of which not even that
// is known is thrown away, unless the database lives in it.
func (s *SQLiteStore) rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err == nil {
		return
	}
	if outside(ctx, conn) == nil || s.inMemory() {
		return
	}
	if conn == s.kept.conn {
		s.kept.forget()
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// outside returns nil if q is in no transaction: then BEGIN works. Inside one
// it fails and changes nothing.
func outside(ctx context.Context, q execer) error {
	if _, err := q.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, "ROLLBACK")
	return err
}

// Tx implements [TxStore].
func (s *SQLiteStore) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	// Close does not wait for it: fn may be who closes.
	if err := s.queue.open(); err != nil {
		return err
	}
	return s.leading(ctx, func() error {
		return s.inOwnTx(ctx, true, func(own context.Context, q *ownRunner) error {
			if err := fn(own, q.tx); err != nil {
				return err
			}
			return ctx.Err()
		})
	})
}

// inOwnTx runs fn in a transaction on the writer, under a context that does not
// end: a statement that is interrupted makes SQLite roll back the whole
// transaction, and what follows would then be committed by itself. Where fn
// runs the host's code, it gets a *sql.Tx for it.
func (s *SQLiteStore) inOwnTx(ctx context.Context, hosted bool, fn func(ctx context.Context, q *ownRunner) error) error {
	if !s.keeps {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	return s.onWriter(ctx, func(ctx context.Context, conn *sql.Conn) error {
		if s.keeps && !hosted {
			return s.inPlainTx(ctx, conn, fn)
		}
		return s.inHostedTx(ctx, conn, fn)
	})
}

// inPlainTx sends BEGIN and COMMIT itself.
func (s *SQLiteStore) inPlainTx(ctx context.Context, conn *sql.Conn, fn func(ctx context.Context, q *ownRunner) error) error {
	q := &ownRunner{c: &s.sql, kept: &s.kept}
	if _, err := q.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed { // also after a panic of fn's
			s.rollback(ctx, conn)
		}
	}()
	if err := fn(ctx, q); err != nil {
		return err
	}
	_, err := q.exec(ctx, "COMMIT")
	committed = err == nil
	return err
}

// inHostedTx has database/sql begin the transaction, as the driver likes: the
// first statement is a write that changes nothing, so that it is IMMEDIATE
// whatever the driver sent. A deferred one that reads and then writes fails when
// another process wrote in between.
func (s *SQLiteStore) inHostedTx(ctx context.Context, conn *sql.Conn, fn func(ctx context.Context, q *ownRunner) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		// Also after a panic of fn's; otherwise it is over by then.
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			s.rollback(ctx, conn)
		}
	}()
	// All that is sent goes through tx, which knows when the host's code has
	// ended it.
	q := s.sql.inOwn(tx)
	if _, err := q.exec(ctx, sqliteLock); err != nil {
		return err
	}
	if err := fn(ctx, q); err != nil {
		return err
	}
	if err = tx.Commit(); err != nil && outside(ctx, conn) != nil {
		s.rollback(ctx, conn) // the driver has left it open
	}
	return err
}

// prepare prepares the statements of the hot paths on the writer's pool, once:
// within a transaction there is no second connection to do it on.
func (s *SQLiteStore) prepare(ctx context.Context) error {
	if s.prepared.Load() {
		return nil
	}
	for _, constant := range []string{sqliteLock, sqliteCreate, sqliteBeginFirst, sqliteFailed, sqliteBegin, sqliteSwap, sqliteWin, sqliteWinner,
		sqliteSettle, sqliteAmend, sqliteFindByAttempt} {
		if _, err := s.sql.get(constant).prepared(ctx, s.writer); err != nil {
			return err
		}
	}
	s.prepared.Store(true)
	return nil
}

const sqliteLock = `UPDATE {p}migrations SET version = version WHERE false`

// errTxGone is returned where there is no transaction any more.
const errTxGone = ruleError("the transaction is over: SQLite rolled it back, after an interrupt or a full disk, or the host's code ended it")

// within runs fn in a host's transaction, all of it or nothing. The host may
// have swallowed an error with which SQLite rolled everything back: what is
// sent then commits by itself, so that is looked at first.
func (s *SQLiteStore) within(ctx context.Context, tx Tx, fn func(ctx context.Context, q executor) error) error {
	ctx = context.WithoutCancel(ctx)
	if outside(ctx, tx) == nil {
		return &Error{Err: ErrRetryTx, Cause: errTxGone}
	}
	if err := s.readyIn(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT onejob_step"); err != nil {
		return err
	}
	if err := fn(ctx, txRunner{&s.sql, tx}); err != nil {
		if missing(err) {
			s.forget() // nothing more can be asked here: the next step is refused
		}
		// If the transaction is gone these fail, and nothing is left to undo.
		_, _ = tx.ExecContext(ctx, "ROLLBACK TO onejob_step")
		_, _ = tx.ExecContext(ctx, "RELEASE onejob_step")
		if errors.Is(err, errTxGone) {
			return &Error{Err: ErrRetryTx, Cause: err}
		}
		return err
	}
	_, err := tx.ExecContext(ctx, "RELEASE onejob_step")
	return err
}
