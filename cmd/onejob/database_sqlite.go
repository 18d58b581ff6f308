package main

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/onejob-go/onejob"
)

// sqliteWords follow the library's predicates, store_sqlite_operator.go.
func sqliteWords(prefix string) words {
	return words{
		hasVersions: `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '` + prefix + `migrations')`,
		version:     `SELECT coalesce(max(version), 0) FROM ` + prefix + `migrations`,
		duePayloads: `
SELECT count(*) FROM ` + prefix + `jobs j
WHERE j.purged_at IS NULL AND j.state <> 'open' AND j.created_at <= ?1 AND j.ended_at <= ?1
	AND NOT EXISTS (SELECT 1 FROM ` + prefix + `attempts a WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))`,
		dueTombstones: `
SELECT count(*) FROM ` + prefix + `jobs j WHERE j.purged_at IS NOT NULL AND j.created_at <= ?1 AND j.ended_at <= ?1`,
		count: `SELECT count(*) FROM `,
		elsewhere: `
SELECT group_concat(substr(name, 1, length(name) - length('migrations')), ', ') FROM sqlite_master m
WHERE type = 'table' AND name LIKE '%migrations' AND EXISTS (SELECT 1 FROM sqlite_master o
	WHERE o.name = substr(m.name, 1, length(m.name) - length('migrations')) || 'attempts_one_open')`,
	}
}

// openSQLite looks at the file before the library opens it: that would make one
// that is missing, and turn another program's into WAL mode.
func (g *globals) openSQLite(ctx context.Context, at address, x access) (*database, error) {
	switch info, err := os.Stat(at.path); {
	case errors.Is(err, fs.ErrNotExist) && x == creates:
		return g.storeSQLite(ctx, at.path, nil)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitUsage, "there is no file %s: the path is wrong, or this is not the machine of the service. Nothing was made", safe(at.path))
	case err != nil:
		return nil, fail(exitFailed, "the file %s cannot be opened: %v", safe(at.path), errors.Unwrap(err))
	case info.IsDir():
		return nil, fail(exitFailed, "%s is a directory, not a file of SQLite", safe(at.path))
	}
	own, err := lookInto(at.path)
	if err != nil {
		return nil, err
	}
	look, err := g.readSQLite(at.path, own)
	for _, check := range []func(context.Context) error{
		func(ctx context.Context) error { return look.readable(ctx) },
		func(ctx context.Context) error { return look.ready(ctx, x) },
		func(ctx context.Context) error { return look.journaled(ctx, x) },
	} {
		if err == nil {
			err = check(ctx)
		}
	}
	switch {
	case err != nil:
		own.Close()
		return nil, err
	case x.changesNothing():
		return look, nil
	}
	d, err := g.storeSQLite(ctx, at.path, own)
	if err != nil {
		own.Close()
	}
	return d, err
}

// lookInto opens a connection that never makes a file and never changes one.
func lookInto(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?mode=rw&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(2)&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func (g *globals) readSQLite(path string, own *sql.DB) (*database, error) {
	s, err := onejob.NewSQLiteStore(own, &onejob.SQLiteOptions{Prefix: string(g.Prefix)})
	if err != nil {
		return nil, err
	}
	return g.databaseOf(s, path, own, func() error { return errors.Join(s.Close(), own.Close()) }), nil
}

func (g *globals) storeSQLite(ctx context.Context, path string, own *sql.DB) (*database, error) {
	s, err := onejob.OpenSQLite(ctx, path, &onejob.SQLiteOptions{Prefix: string(g.Prefix)})
	if err != nil {
		return nil, err
	}
	if own == nil {
		if own, err = lookInto(path); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return g.databaseOf(s, path, own, func() error { return errors.Join(own.Close(), s.Close()) }), nil
}

func (g *globals) databaseOf(s store, path string, own *sql.DB, end func() error) *database {
	prefix := string(g.Prefix)
	if prefix == "" {
		prefix = "onejob_"
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // a prompt that says jobs.db does not say whose
	}
	where := "tables " + prefix + "* of " + safe(path)
	return &database{store: s, kind: sqlite, where: where, own: own, words: sqliteWords(prefix), end: end, names: "--prefix"}
}

// readable tells a file that is none of SQLite's.
func (d *database) readable(ctx context.Context) error {
	var n int
	err := d.ask(ctx, &n, `SELECT count(*) FROM sqlite_master`)
	var code interface{ Code() int }
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &code) && (code.Code()&0xff == 26 || code.Code()&0xff == 11):
		return fail(exitFailed, "%s: the file is damaged, or no file of SQLite", d.where)
	case errors.As(err, &code) && code.Code()&0xff == 14:
		return fail(exitFailed, "%s: the file cannot be opened: may you read it, and write to its directory?", d.where)
	}
	return d.asked(err)
}

// journaled tells a file whose tables are made and which no program has opened as
// the library does: what reads here must not change the file's mode.
func (d *database) journaled(ctx context.Context, x access) error {
	if x != reads && x != surveys {
		return nil
	}
	var mode string
	if err := d.ask(ctx, &mode, `PRAGMA journal_mode`); err != nil {
		return d.asked(err)
	}
	if !strings.EqualFold(mode, "wal") {
		return fail(exitSchema, `%s: the file is not in WAL mode yet, which the library needs: "onejob migrate up" sets it`, d.where)
	}
	return nil
}
