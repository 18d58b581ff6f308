package onejob

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// runner sends one statement. Its text is one of the constants, with names in
// braces.
type runner interface {
	query(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// statements renders the constants, once each, and keeps them prepared.
type statements struct {
	db         *sql.DB
	unprepared bool
	names      map[string]string
	known      sync.Map // constant → *statement
}

type statement struct {
	text string
	stmt atomic.Pointer[sql.Stmt] // nil until first used
}

func (c *statements) get(constant string) *statement {
	if st, ok := c.known.Load(constant); ok {
		return st.(*statement)
	}
	st, _ := c.known.LoadOrStore(constant, &statement{text: c.render(constant)})
	return st.(*statement)
}

// render writes the names out, in one pass: none stands within another.
func (c *statements) render(constant string) string {
	pairs := make([]string, 0, 2*len(c.names))
	for name, text := range c.names {
		pairs = append(pairs, name, text)
	}
	return strings.NewReplacer(pairs...).Replace(constant)
}

// prepared prepares without a lock: one caller whose connection went silent
// must not stop all the others.
func (st *statement) prepared(ctx context.Context, db *sql.DB) (*sql.Stmt, error) {
	if stmt := st.stmt.Load(); stmt != nil {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, st.text)
	if err != nil {
		return nil, err
	}
	if !st.stmt.CompareAndSwap(nil, stmt) {
		stmt.Close()
	}
	return st.stmt.Load(), nil
}

// query implements runner on the pool.
func (c *statements) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	if c.unprepared {
		return plainRunner{c}.query(ctx, constant, args...)
	}
	stmt, err := c.get(constant).prepared(ctx, c.db)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// plainRunner sends statements to the pool without preparing them.
type plainRunner struct{ c *statements }

func (r plainRunner) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	return r.c.db.QueryContext(ctx, r.c.get(constant).text, args...)
}

// in returns a runner within a host's transaction, which may be on another
// pool: nothing is prepared there.
func (c *statements) in(tx Tx) runner { return txRunner{c, tx} }

type txRunner struct {
	c  *statements
	tx Tx
}

func (r txRunner) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(ctx, r.c.get(constant).text, args...)
}

// inOwn returns a runner within a transaction of the pool's own, where what
// was prepared serves.
func (c *statements) inOwn(tx *sql.Tx) runner {
	if c.unprepared {
		return c.in(tx)
	}
	return ownRunner{c, tx}
}

type ownRunner struct {
	c  *statements
	tx *sql.Tx
}

func (r ownRunner) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	st := r.c.get(constant)
	stmt := st.stmt.Load()
	if stmt == nil {
		// Preparing on the pool here would wait for a second connection.
		return r.tx.QueryContext(ctx, st.text, args...)
	}
	return r.tx.StmtContext(ctx, stmt).QueryContext(ctx, args...)
}

// withoutPayload puts null in the place of columns.
func withoutPayload(list, null string, columns ...string) string {
	for _, c := range columns {
		list = strings.Replace(list, c+",", null+" AS "+strings.TrimPrefix(c, "j.")+",", 1)
	}
	return list
}

var safeName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,30}$`)

// checkName guards what is written into SQL text. The database keeps names that
// begin with reserved for itself.
func checkName(field, name, reserved string) error {
	if !safeName.MatchString(name) || strings.HasPrefix(name, reserved) {
		return invalid(field, "must match "+safeName.String()+" and not begin with "+reserved)
	}
	return nil
}
