package onejob

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"sync"
)

// pragmaCheck looks at each connection of the writer once: the pool may have
// replaced it at any time.
type pragmaCheck struct {
	mu   sync.Mutex
	seen any // the driver's connection that was last found good
	file string
	info os.FileInfo // of the file when it was first used
}

func (c *pragmaCheck) inMemory() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen != nil && c.file == ""
}

func (s *SQLiteStore) checkWriter(ctx context.Context, conn *sql.Conn) error {
	var now any
	if err := conn.Raw(func(c any) error { now = c; return nil }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == s.seen {
		return nil
	}
	if err := checkPragmas(ctx, conn); err != nil {
		return err
	}
	file, err := sqliteFile(ctx, conn)
	if err != nil {
		return err
	}
	if s.seen == nil {
		if err := s.checkReaders(ctx, file); err != nil {
			return err
		}
		s.file = file
		if file != "" {
			s.info, _ = os.Stat(file) // Doctor tells if there is none
		}
	}
	s.seen = now
	return nil
}

func checkPragmas(ctx context.Context, q execer) error {
	p, err := readPragmas(ctx, q)
	if err != nil {
		return err
	}
	switch {
	case p.foreignKeys != 1:
		return badWriter("foreign_keys is off: set PRAGMA foreign_keys = ON on each connection of the writer")
	case p.journal != "wal" && p.journal != "memory":
		return badWriter("journal_mode is not WAL: set PRAGMA journal_mode = WAL on the writer")
	case p.busyTimeout <= 0:
		return badWriter("busy_timeout is 0: set PRAGMA busy_timeout = 5000 on each connection of the writer")
	}
	return nil
}

func badWriter(rule string) error { return &Error{Err: ErrUnsupported, Cause: ruleError(rule)} }

// checkReaders refuses readers of another file, and of a database in memory,
// which each connection has for itself.
func (s *SQLiteStore) checkReaders(ctx context.Context, file string) error {
	if s.reader == s.writer {
		return nil
	}
	if file == "" {
		return badWriter("a database in memory cannot have readers: leave SQLiteOptions.Readers out")
	}
	theirs, err := sqliteFile(ctx, s.reader)
	if err == nil && theirs != file {
		return badWriter("SQLiteOptions.Readers is on another file than the writer")
	}
	return err
}

// sqliteFile returns the path of the main database, "" for one in memory.
func sqliteFile(ctx context.Context, q execer) (string, error) {
	var file sql.NullString
	err := q.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&file)
	return file.String, err
}

type pragmas struct {
	journal                               string
	synchronous, busyTimeout, foreignKeys int
}

func readPragmas(ctx context.Context, q execer) (p pragmas, err error) {
	for name, dest := range map[string]any{
		"journal_mode": &p.journal, "synchronous": &p.synchronous,
		"busy_timeout": &p.busyTimeout, "foreign_keys": &p.foreignKeys,
	} {
		if err := q.QueryRowContext(ctx, "PRAGMA "+name).Scan(dest); err != nil {
			return p, err
		}
	}
	p.journal = strings.ToLower(p.journal)
	return p, nil
}
