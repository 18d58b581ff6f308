package onejob_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

// The driver "faulty" is modernc.org/sqlite with statements that fail as a test
// likes, and little else of what a driver may have.
func init() { sql.Register("faulty", faultyDriver{}) }

// faults are known by the path of the file: what is to happen at a statement.
var faults sync.Map // path → func(faultyStatement) error

// faultyStatement is one that is about to be sent.
type faultyStatement struct {
	conn *faultyConn
	text string
	args []driver.NamedValue
	own  func() error // sends it
}

// strays reports whether the statement is one that a transaction must be there
// for, and there is none.
func (s faultyStatement) strays() bool {
	if !strings.Contains(s.text, "UPDATE onejob_") && !strings.Contains(s.text, "INSERT INTO onejob_") && s.text != "SAVEPOINT onejob_write" {
		return false
	}
	if _, err := s.conn.run("BEGIN"); err != nil {
		return false
	}
	_, _ = s.conn.run("ROLLBACK")
	return true
}

// rollback ends the transaction as SQLite does by itself after some errors.
func (s faultyStatement) rollback() { _, _ = s.conn.run("ROLLBACK") }

// diskError is SQLite's SQLITE_IOERR.
type diskError struct{}

func (diskError) Error() string { return "disk I/O error" }
func (diskError) Code() int     { return 10 }

type faultyDriver struct{}

func (faultyDriver) Open(name string) (driver.Conn, error) {
	conn, err := (&sqlite.Driver{}).Open(name)
	path, _, _ := strings.Cut(strings.TrimPrefix(name, "file:"), "?")
	return &faultyConn{Conn: conn, path: path}, err
}

// faultyConn takes its statements with it when it is closed.
type faultyConn struct {
	driver.Conn
	path  string
	stmts []*faultyStmt
}

func (c *faultyConn) Prepare(query string) (driver.Stmt, error) {
	stmt, err := c.Conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	s := &faultyStmt{stmt, c, query}
	c.stmts = append(c.stmts, s)
	return s, nil
}

func (c *faultyConn) run(text string) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
}

func (c *faultyConn) Close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	return c.Conn.Close()
}

// Begin implements driver.Conn.
func (c *faultyConn) Begin() (driver.Tx, error) {
	_, err := c.run("BEGIN")
	return faultyTx{c}, err
}

type faultyTx struct{ conn *faultyConn }

func (t faultyTx) Commit() error {
	err := t.conn.fault("COMMIT", nil, func() error { _, err := t.conn.run("COMMIT"); return err })
	if err != nil {
		_, _ = t.conn.run("ROLLBACK") // as the driver does
	}
	return err
}

func (t faultyTx) Rollback() error {
	_, err := t.conn.run("ROLLBACK")
	return err
}

func (c *faultyConn) fault(text string, args []driver.NamedValue, own func() error) error {
	f, ok := faults.Load(c.path)
	if !ok {
		return own()
	}
	return f.(func(faultyStatement) error)(faultyStatement{c, text, args, own})
}

type faultyStmt struct {
	driver.Stmt
	conn *faultyConn
	text string
}

func (s *faultyStmt) Close() (err error) {
	if s.Stmt != nil {
		err = s.Stmt.Close()
		s.Stmt = nil
	}
	return err
}

// ExecContext implements driver.StmtExecContext.
func (s *faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (res driver.Result, err error) {
	err = s.conn.fault(s.text, args, func() (err error) {
		res, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return res, err
}

// QueryContext implements driver.StmtQueryContext.
func (s *faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.conn.fault(s.text, args, func() (err error) {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	return rows, err
}
