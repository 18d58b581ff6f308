package main

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	"github.com/onejob-go/onejob"
)

// connectTime bounds the first connection: whoever waits for it is a person.
const connectTime = 15 * time.Second

// access is what a command is about to do, which decides how it connects.
type access int

const (
	reads    access = iota // and must change nothing, not even the journal's mode
	surveys                // reads much: the server may be silent for as long as it takes
	writes                 // decisions
	works                  // writes much, likewise
	inspects               // reads, whatever the schema is
	migrates               // works, on an old schema too
	creates                // works, also where there is none, nor a file
)

func (x access) changesNothing() bool { return x == reads || x == surveys || x == inspects }

// store is what both of the library's stores are.
type store interface {
	onejob.Store
	onejob.OperatorStore
	Migrate(ctx context.Context) error
	MigrateTo(ctx context.Context, version int) error
	Migrations() fs.FS
}

// database is a store, and what this command asks of the tables by itself: it
// only reads, and never what the store can tell.
type database struct {
	store
	kind  string
	where string // for people
	own   *sql.DB
	words words
	end   func() error
	names string // the flag that names other tables, for hints
}

// words are the command's own statements.
type words struct {
	now         string
	hasVersions string // whether there is a table of versions
	version     string
	// How many jobs purge would take that ended longer ago than $1 microseconds
	// (PostgreSQL), before $1 (SQLite): the library's predicates, counted.
	duePayloads, dueTombstones string
	count                      string // begins a count of a table's rows
	elsewhere                  string // where else there are such tables; may be empty
}

func (d *database) Close() error { return d.end() }

// ask runs a statement that returns one value, in a transaction that only reads:
// behind a pooler a statement with arguments is not safe outside of one.
func (d *database) ask(ctx context.Context, dest any, statement string, args ...any) error {
	tx, err := d.own.BeginTx(ctx, &sql.TxOptions{ReadOnly: d.kind == postgres})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return tx.QueryRowContext(ctx, statement, args...).Scan(dest)
}

// now is the clock by which the stored times were taken.
func (d *database) now(ctx context.Context) (time.Time, error) {
	if d.words.now == "" {
		return time.Now().UTC(), nil
	}
	var now time.Time
	err := d.ask(ctx, &now, d.words.now)
	return now.UTC(), d.asked(err)
}

// version is the schema's, 0 where there is none.
func (d *database) version(ctx context.Context) (version int, err error) {
	var exists bool
	if err = d.ask(ctx, &exists, d.words.hasVersions); err == nil && exists {
		err = d.ask(ctx, &version, d.words.version)
	}
	return version, d.asked(err)
}

// due counts what a purge would take: jobs to empty, or tombstones to remove.
func (d *database) due(ctx context.Context, tombstones bool, older time.Duration) (n int64, err error) {
	statement := d.words.duePayloads
	if tombstones {
		statement = d.words.dueTombstones
	}
	arg := older.Microseconds()
	if d.kind == sqlite {
		arg = time.Now().Add(-older).UnixMicro()
	}
	err = d.ask(ctx, &n, statement, arg)
	return n, d.asked(err)
}

// rows counts a table. Its name comes from a migration.
func (d *database) rows(ctx context.Context, table string) (n int64, err error) {
	err = d.ask(ctx, &n, d.words.count+table)
	return n, d.asked(err)
}

// asked makes an error of the command's own statements look like the library's.
func (d *database) asked(err error) error {
	if err == nil {
		return nil
	}
	return &onejob.Error{Err: onejob.ErrUnavailable, Cause: err}
}

// need is the version that this program needs.
func (d *database) need() int { return len(migrationFiles(d.store)) }

// ready refuses tables that are missing or old, in the words of this command.
func (d *database) ready(ctx context.Context, x access) error {
	if x == inspects || x == creates {
		return nil
	}
	have, err := d.version(ctx)
	if err != nil {
		return err
	}
	switch need := d.need(); {
	case have == 0:
		text := d.where + ": onejob's tables are not here"
		var elsewhere sql.NullString
		if d.words.elsewhere != "" && d.ask(ctx, &elsewhere, d.words.elsewhere) == nil && elsewhere.String != "" {
			return fail(exitSchema, "%s, but there are some under %s: give that with %s", text, safe(elsewhere.String), d.names)
		}
		return fail(exitSchema, `%s: is it the right database (and %s)? To make them run "onejob migrate up"`, text, d.names)
	case have < need && x != migrates:
		return fail(exitSchema, `%s: the schema is at version %d and this program needs %d: run "onejob migrate up", or use the onejob of the release that the services run`,
			d.where, have, need)
	}
	return nil
}
