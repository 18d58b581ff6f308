package onejob

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// runner sends one statement. Its text is one of the constants, with names in
// braces.
type runner interface {
	query(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// executor also sends statements that return no rows, and reports how many
// they changed.
type executor interface {
	runner
	exec(ctx context.Context, statement string, args ...any) (int64, error)
}

// statements renders the constants, once each, and keeps them prepared.
type statements struct {
	db         *sql.DB
	unprepared bool
	closed     atomic.Bool
	generation atomic.Int64 // raised when what was prepared is stale
	names      map[string]string
	known      sync.Map // constant → *statement
}

type statement struct {
	text  string
	plain string                   // pgx takes what it has prepared for a text that is the same
	stmt  atomic.Pointer[sql.Stmt] // nil until first used
}

func (c *statements) get(constant string) *statement {
	if st, ok := c.known.Load(constant); ok {
		return st.(*statement)
	}
	text := c.render(constant)
	if n := c.generation.Load(); n > 0 {
		text += "\n-- prepared anew: " + strconv.FormatInt(n, 10)
	}
	st, _ := c.known.LoadOrStore(constant, &statement{text: text, plain: text + "\n-- not prepared"})
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
	if st.stmt.CompareAndSwap(nil, stmt) {
		return stmt, nil
	}
	stmt.Close()
	return st.prepared(ctx, db)
}

// forget has all statements prepared anew when they are next used, unless
// another caller has seen to it since the generation that failed. The old ones
// are closed once nobody is about to send them any more.
//
// The new ones differ in their text: pgx knows a statement by that, and keeps
// what it has prepared under one until it is told to give it up.
func (c *statements) forget(failed int64) {
	if !c.generation.CompareAndSwap(failed, failed+1) {
		return
	}
	c.known.Range(func(constant, st any) bool {
		c.known.CompareAndDelete(constant, st)
		if stmt := st.(*statement).stmt.Load(); stmt != nil {
			time.AfterFunc(time.Minute, func() { stmt.Close() })
		}
		return true
	})
}

// close gives up what was prepared, on a pool that may go on.
func (c *statements) close() {
	c.closed.Store(true)
	c.known.Range(func(_, st any) bool {
		if stmt := st.(*statement).stmt.Swap(nil); stmt != nil {
			stmt.Close()
		}
		return true
	})
}

// query implements runner on the pool.
func (c *statements) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	if c.unprepared || c.closed.Load() {
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
	return r.c.db.QueryContext(ctx, r.c.get(constant).plain, args...)
}

// in returns a runner within a host's transaction, which may be on another
// pool: nothing is prepared there.
func (c *statements) in(tx Tx) runner { return txRunner{c, tx} }

type txRunner struct {
	c  *statements
	tx Tx
}

func (r txRunner) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(ctx, r.c.get(constant).plain, args...)
}

func (r txRunner) exec(ctx context.Context, constant string, args ...any) (int64, error) {
	return affected(r.tx.ExecContext(ctx, r.c.get(constant).plain, args...))
}

// inOwn returns a runner within a transaction of the pool's own, where what
// was prepared serves.
func (c *statements) inOwn(tx *sql.Tx) *ownRunner { return &ownRunner{c: c, tx: tx} }

type ownRunner struct {
	c     *statements
	tx    *sql.Tx
	bound []boundStmt // a batch sends the same few again and again
	kept  *keptConn   // the connection, where the store keeps it
}

type boundStmt struct {
	constant string
	stmt     *sql.Stmt
}

// stmt returns the statement within the transaction, nil where it was not
// prepared: preparing on the pool here would wait for a second connection.
func (r *ownRunner) stmt(ctx context.Context, constant string) (*sql.Stmt, error) {
	if r.kept != nil {
		return r.kept.stmt(ctx, r.c, constant)
	}
	if r.c.unprepared {
		return nil, nil
	}
	for _, b := range r.bound {
		if b.constant == constant {
			return b.stmt, nil
		}
	}
	stmt := r.c.get(constant).stmt.Load()
	if stmt == nil {
		return nil, nil
	}
	stmt = r.tx.StmtContext(ctx, stmt)
	r.bound = append(r.bound, boundStmt{constant, stmt})
	return stmt, nil
}

func (r *ownRunner) query(ctx context.Context, constant string, args ...any) (*sql.Rows, error) {
	stmt, err := r.stmt(ctx, constant)
	if err != nil {
		return nil, err
	}
	if stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return r.tx.QueryContext(ctx, r.c.get(constant).text, args...)
}

func (r *ownRunner) exec(ctx context.Context, constant string, args ...any) (int64, error) {
	stmt, err := r.stmt(ctx, constant)
	if err != nil {
		return 0, err
	}
	if stmt != nil {
		return affected(stmt.ExecContext(ctx, args...))
	}
	return affected(r.tx.ExecContext(ctx, r.c.get(constant).text, args...))
}

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
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
