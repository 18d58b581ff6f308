package onejob

import (
	"context"
	"database/sql"
)

// keptConn is the writer's connection of a store whose pools are its own, with
// what was prepared on it. Nobody else may ask for it there, so it need not go
// back to the pool, and a transaction on it needs no goroutine of database/sql.
// Only who leads uses it, and not in a transaction of database/sql's.
type keptConn struct {
	conn  *sql.Conn
	stmts []boundStmt
}

// stmt returns a statement, prepared on the connection.
func (k *keptConn) stmt(ctx context.Context, c *statements, constant string) (*sql.Stmt, error) {
	for _, b := range k.stmts {
		if b.constant == constant {
			return b.stmt, nil
		}
	}
	stmt, err := k.conn.PrepareContext(ctx, c.get(constant).text)
	if err == nil {
		k.stmts = append(k.stmts, boundStmt{constant, stmt})
	}
	return stmt, err
}

// alive reports whether there is a connection that was not thrown away.
func (k *keptConn) alive() bool {
	return k.conn != nil && k.conn.Raw(func(any) error { return nil }) == nil
}

func (k *keptConn) drop() {
	k.forget()
	if k.conn != nil {
		k.conn.Close()
	}
	*k = keptConn{}
}

// forget closes the statements. Those of a connection that has broken are left:
// database/sql has closed it before them, and a driver may crash over that.
func (k *keptConn) forget() {
	if k.alive() {
		for _, b := range k.stmts {
			b.stmt.Close()
		}
	}
	k.stmts = nil
}

// handOver lets the next caller lead.
func (s *SQLiteStore) handOver() {
	s.queue.handOver()
	s.dropAfterClose()
}

// dropAfterClose gives the kept connection up after Close, unless somebody leads,
// who will.
func (s *SQLiteStore) dropAfterClose() {
	if s.queue.open() != nil && s.queue.leadNow() {
		s.kept.drop()
		s.queue.handOver()
	}
}

// takeWriter takes the writer connection, until done. Where it is kept, the
// caller leads.
func (s *SQLiteStore) takeWriter(ctx context.Context) (conn *sql.Conn, done func(), err error) {
	if !s.keeps {
		if conn, err = s.writer.Conn(ctx); err != nil {
			return nil, nil, err
		}
		return conn, func() { conn.Close() }, nil
	}
	if !s.kept.alive() {
		s.kept.drop()
		// For transactions that database/sql begins: once the connection is
		// taken there is none to prepare on. Before there are tables it cannot be.
		if s.passed.Load() {
			_ = s.prepare(ctx)
		}
		if s.kept.conn, err = s.writer.Conn(ctx); err != nil {
			s.kept.conn = nil
			return nil, nil, err
		}
	}
	return s.kept.conn, func() {}, nil
}

// onWriter runs fn on the writer connection, under a context that does not end.
func (s *SQLiteStore) onWriter(ctx context.Context, fn func(ctx context.Context, conn *sql.Conn) error) error {
	conn, done, err := s.takeWriter(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	if err := s.checkWriter(ctx, conn); err != nil {
		return err
	}
	return fn(ctx, conn)
}
