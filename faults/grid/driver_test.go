package grid

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
)

// The driver "grid" is modernc.org/sqlite with a hook at COMMIT: SQLite has no
// wire to cut, so what can go wrong between it and its caller goes wrong here.
// Every write of the store's ends with a COMMIT: it sends none by itself.
func init() { sql.Register("grid", gridDriver{}) }

// commitHook is what happens at the COMMITs of one pool.
type commitHook struct {
	before func() error // an error keeps COMMIT from SQLite
	after  func() error // an error takes the place of SQLite's good news
	skip   int          // how many COMMITs go well
	stays  bool         // the later ones go wrong too

	conn     driver.ExecerContext // the one that commits
	armed    atomic.Bool
	seen     atomic.Int32
	happened atomic.Int32
}

func (h *commitHook) arm() { h.armed.Store(true) }

// commit runs SQLite's own between the two.
func (h *commitHook) commit(own, rollback func() error) error {
	now := h.armed.Load() && (int(h.seen.Add(1)) == h.skip+1 || h.stays && int(h.seen.Load()) > h.skip)
	if now {
		h.happened.Add(1)
		if h.before != nil {
			if err := h.before(); err != nil {
				_ = rollback() // as the driver does when COMMIT fails
				return err
			}
		}
	}
	if err := own(); err != nil || !now || h.after == nil {
		return err
	}
	return h.after()
}

// hooks are known by a parameter of the address.
var hooks sync.Map

type gridDriver struct{}

var base = &sqlite.Driver{}

// Open implements driver.Driver.
func (gridDriver) Open(name string) (driver.Conn, error) {
	c, err := base.Open(name)
	if err != nil {
		return nil, err
	}
	_, id, _ := strings.Cut(name, "&hook=")
	hook, ok := hooks.Load(id)
	if !ok {
		return nil, errors.New("no hook for " + name)
	}
	return &gridConn{c.(sqliteConn), hook.(*commitHook)}, nil
}

// sqliteConn is what the driver's connections can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type gridConn struct {
	sqliteConn
	hook *commitHook
}

// ExecContext implements driver.ExecerContext.
func (c *gridConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	if !strings.EqualFold(query, "COMMIT") {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	c.hook.conn = c.sqliteConn
	err = c.hook.commit(func() error {
		res, err = c.sqliteConn.ExecContext(ctx, query, args)
		return err
	}, func() error { return nil }) // the store rolls back itself
	return res, err
}

// BeginTx implements driver.ConnBeginTx.
func (c *gridConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.sqliteConn.BeginTx(ctx, opts)
	return gridTx{tx, c}, err
}

type gridTx struct {
	driver.Tx
	conn *gridConn
}

// Commit implements driver.Tx.
func (t gridTx) Commit() error {
	t.conn.hook.conn = t.conn.sqliteConn
	return t.conn.hook.commit(t.Tx.Commit, t.Tx.Rollback)
}
