package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
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

func (s *SQLiteStore) exec(ctx context.Context, q execer, constant string, args ...any) (int64, error) {
	res, err := q.ExecContext(ctx, s.sql.get(constant).text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// write runs fn in a transaction on the writer. ctx bounds the wait for the
// writer only: a statement that is interrupted makes SQLite roll back the
// whole transaction, and what follows would then be committed by itself.
func (s *SQLiteStore) write(ctx context.Context, fn func(ctx context.Context, q execer) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.locked(ctx, fn)
}

// locked is write, also where there are no tables yet.
func (s *SQLiteStore) locked(ctx context.Context, fn func(ctx context.Context, q execer) error) error {
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

// onWriter takes the writer connection, under a context that does not end.
func (s *SQLiteStore) onWriter(ctx context.Context, fn func(ctx context.Context, conn *sql.Conn) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = context.WithoutCancel(ctx)
	if err := s.checkWriter(ctx, conn); err != nil {
		return err
	}
	return fn(ctx, conn)
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

// Tx implements [TxStore]. A hook needs a *sql.Tx, which database/sql begins as
// the driver likes: the first statement is a write that changes nothing, so
// that the transaction is IMMEDIATE whatever the driver sent.
func (s *SQLiteStore) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	caller := ctx
	return s.onWriter(ctx, func(ctx context.Context, conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a panic of fn's; otherwise it is over by then
		if _, err := s.exec(ctx, tx, sqliteLock); err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if err := caller.Err(); err != nil {
			return err
		}
		return tx.Commit()
	})
}

const sqliteLock = `UPDATE {p}migrations SET version = version WHERE false`

// errTxGone is what within returns where there is no transaction any more.
const errTxGone = ruleError("SQLite has rolled the transaction back, after an interrupt or a full disk")

// within runs fn in a host's transaction, all of it or nothing. The host may
// have swallowed an error with which SQLite rolled everything back: what is
// sent then commits by itself, so that is looked at first.
func (s *SQLiteStore) within(ctx context.Context, tx Tx, fn func(ctx context.Context, q execer) error) error {
	ctx = context.WithoutCancel(ctx)
	if outside(ctx, tx) == nil {
		return &Error{Err: ErrRetryTx, Cause: errTxGone}
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT onejob_step"); err != nil {
		return err
	}
	if err := fn(ctx, tx); err != nil {
		// If the transaction is gone these fail, and nothing is left to undo.
		_, _ = tx.ExecContext(ctx, "ROLLBACK TO onejob_step")
		_, _ = tx.ExecContext(ctx, "RELEASE onejob_step")
		return err
	}
	_, err := tx.ExecContext(ctx, "RELEASE onejob_step")
	return err
}
