package onejob

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
)

// NewSQLiteStore returns a store on a pool of the host's, which must be limited
// to one connection (SetMaxOpenConns(1)); SQLiteOptions.Readers should be a
// second pool on the same file. Each of the writer's connections must have WAL,
// foreign keys and a busy timeout: that is checked when it is first used, and
// refused with ErrUnsupported. Set synchronous to FULL, or a loss of power
// takes the last results with it.
//
// It sends nothing: call [SQLiteStore.Migrate] once before use. [OpenSQLite]
// does all this by itself.
func NewSQLiteStore(writer *sql.DB, opts *SQLiteOptions) (*SQLiteStore, error) {
	const op = "NewSQLiteStore"
	var o SQLiteOptions
	if opts != nil {
		o = *opts
	}
	if o.Prefix == "" {
		o.Prefix = "onejob_"
	}
	if err := checkName("SQLiteOptions.Prefix", o.Prefix, "sqlite_"); err != nil {
		return nil, named(op, err)
	}
	if writer == nil {
		return nil, named(op, invalid("writer", "is required"))
	}
	if writer.Stats().MaxOpenConnections != 1 {
		return nil, named(op, invalid("writer", "must be limited to one connection: call SetMaxOpenConns(1)"))
	}
	s := &SQLiteStore{writer: writer, reader: o.Readers, prefix: o.Prefix, queue: newWriteQueue()}
	if s.reader == nil {
		s.reader = writer
	}
	names := map[string]string{
		"{p}":       o.Prefix,
		"{job}":     jobColumns,
		"{entry}":   withoutPayload(jobColumns, "NULL", "j.params", "j.result"),
		"{attempt}": attemptColumns("a", "?4"),
		"{other}":   attemptColumns("o", "?4"),
		"{shown}":   shownAttempt,
	}
	s.sql.db, s.sql.names = s.writer, names
	s.reads.db, s.reads.names = s.reader, names
	return s, nil
}

// OpenSQLite opens the file, or makes it, and returns a store that is ready
// for Migrate: with WAL, foreign keys, a busy timeout of five seconds and
// synchronous FULL on every connection, one connection that writes and four
// that read. Close the store when done. Its pools are its own: a host with
// tables in the same file writes them in Jobs.Tx or OnComplete, and reads them
// there or through a pool of its own.
//
// The host imports the driver: import _ "modernc.org/sqlite". A driver that is
// not registered is ErrUnsupported. The path ":memory:" makes a database that
// lives as long as the store, with one connection for all.
func OpenSQLite(ctx context.Context, path string, opts *SQLiteOptions) (*SQLiteStore, error) {
	const op = "OpenSQLite"
	var o SQLiteOptions
	if opts != nil {
		o = *opts
	}
	if o.Driver == "" {
		o.Driver = "sqlite"
	}
	if o.Readers != nil {
		return nil, named(op, invalid("SQLiteOptions.Readers", "is for NewSQLiteStore: OpenSQLite makes its own"))
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, named(op, invalid("path", "is required, and holds no NUL"))
	}
	if !slices.Contains(sql.Drivers(), o.Driver) {
		return nil, &Error{Op: op, Err: ErrUnsupported, Cause: ruleError(
			`the SQLite driver is not registered: import _ "modernc.org/sqlite", or name another in SQLiteOptions.Driver`)}
	}
	writer, err := sqlitePool(o.Driver, path, 1, writerPragmas)
	if err != nil {
		return nil, unavailable(op, err)
	}
	own := []*sql.DB{writer}
	if path != ":memory:" {
		o.Readers, err = sqlitePool(o.Driver, path, 4, readerPragmas)
		if err != nil {
			writer.Close()
			return nil, unavailable(op, err)
		}
		own = append(own, o.Readers)
	}
	s, err := NewSQLiteStore(writer, &o)
	if err != nil {
		closeAll(own)
		return nil, renamed(op, err)
	}
	s.own, s.keeps = own, path != ":memory:"
	// The writer makes the file and turns WAL on, before a reader comes.
	err = s.onWriter(ctx, func(context.Context, *sql.Conn) error { return nil })
	if err != nil {
		s.Close()
		if sqliteCode(err)&0xff == 14 {
			return nil, named(op, invalid("path", "cannot be opened: does the directory exist, and may it be written to?"))
		}
		return nil, unavailable(op, err)
	}
	return s, nil
}

// Close refuses the writes that come from now on, waits for those that are under
// way or wait for the file, and closes the pools that OpenSQLite made. It closes
// nothing of the host's. It waits for ten seconds at most, and not for
// transactions of Jobs.Tx, in which it may itself have been called: one that runs
// may still commit.
func (s *SQLiteStore) Close() error {
	s.queue.close()
	s.dropAfterClose()
	s.sql.close()
	s.reads.close()
	return closeAll(s.own)
}

func closeAll(pools []*sql.DB) error {
	var first error
	for i := len(pools) - 1; i >= 0; i-- { // the writer last: it removes the WAL
		if err := pools[i].Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// The busy timeout comes first: turning WAL on needs a lock that another
// process may hold.
var (
	writerPragmas = []string{"busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"}
	readerPragmas = []string{"busy_timeout = 5000", "foreign_keys = ON", "query_only = ON"}
)

// sqlitePool opens a pool on whose connections the pragmas are set, whatever
// the driver's own way of asking for that is.
func sqlitePool(name, path string, size int, pragmas []string) (*sql.DB, error) {
	dsn := path
	if path != ":memory:" {
		dsn = "file:" + (&url.URL{Path: path}).EscapedPath()
	}
	db, err := sql.Open(name, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close() // only its driver is used
	var base driver.Connector = dsnConnector{dsn, db.Driver()}
	if d, ok := db.Driver().(driver.DriverContext); ok {
		if base, err = d.OpenConnector(dsn); err != nil {
			return nil, err
		}
	}
	pool := sql.OpenDB(pragmaConnector{base, pragmas})
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

type dsnConnector struct {
	dsn    string
	driver driver.Driver
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

type pragmaConnector struct {
	driver.Connector
	pragmas []string
}

func (c pragmaConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range c.pragmas {
		if err := patiently(ctx, func() error { return execOn(ctx, conn, "PRAGMA "+p) }); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// patience is the busy timeout of a connection that the store opens.
const patience = 5 * time.Second

// patiently tries again while another process has the file. SQLite's own busy
// timeout does not hold for turning WAL on: of many processes that open a new
// file at once, some are told at once that it is locked.
func patiently(ctx context.Context, try func() error) error {
	end := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := try()
		if sqliteCode(err)&0xff != 5 || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(wait + rand.N(wait)):
		case <-ctx.Done():
			return err
		}
	}
}

func execOn(ctx context.Context, conn driver.Conn, query string) error {
	if e, ok := conn.(driver.ExecerContext); ok {
		_, err := e.ExecContext(ctx, query, nil)
		return err
	}
	st, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Exec(nil) //lint:ignore SA1019 the one way that every driver has
	return err
}
