package onejob

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
)

// Migrate brings the schema to the version this program needs, in one
// transaction. It is safe to call from any number of processes at once, and
// does nothing where all is done. A schema of a newer version is left alone.
// Programs of earlier releases go on meanwhile and afterwards.
//
// A migration that needs a lock which a running transaction holds makes everybody
// else wait behind it. So it gives up after five seconds, or after the pool's own
// lock_timeout, with ErrUnavailable and nothing changed: call it again.
func (s *PostgresStore) Migrate(ctx context.Context) error {
	return s.migrate(ctx, "Migrate", func(have int) int { return max(have, len(s.migrations())) })
}

// MigrateTo brings the schema to a version, up or down. Version 0 removes the
// tables AND ALL JOBS WITH THEM; the schema itself stays.
func (s *PostgresStore) MigrateTo(ctx context.Context, version int) error {
	const op = "MigrateTo"
	if err := checkTarget(s.migrations(), version); err != nil {
		return named(op, err)
	}
	return s.migrate(ctx, op, func(int) int { return version })
}

// Migrations returns the migrations with the schema's name written out, for
// hosts that run them with a tool of their own: the directory goose is for
// goose, migrate for golang-migrate. Whoever runs them, Migrate knows.
func (s *PostgresStore) Migrations() fs.FS { return migrationFS(s.migrations()) }

func (s *PostgresStore) migrations() []migration {
	return migrations("postgres", strings.NewReplacer("{schema}", s.quoted()))
}

// quoted is the schema's name as it is written into SQL: a reserved word is a
// name like any other.
func (s *PostgresStore) quoted() string { return `"` + s.schema + `"` }

// The lock is what makes IF NOT EXISTS safe: by itself it is not, under
// simultaneous calls.
const pgMigrationLock = `SELECT pg_advisory_xact_lock(hashtextextended('onejob.' || $1, 0))`

// It comes after that lock, for which others may wait as long as a migration takes.
const pgLockTimeout = `SELECT set_config('lock_timeout', '5s', true) WHERE current_setting('lock_timeout') = '0'`

func (s *PostgresStore) migrate(ctx context.Context, op string, target func(have int) int) error {
	err := s.begun(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, pgMigrationLock, s.schema); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, pgLockTimeout); err != nil {
			return err
		}
		have, err := s.version(ctx, tx)
		if err != nil {
			return err
		}
		exists, err := s.exists(ctx, tx, pgHasSchema)
		if err != nil {
			return err
		}
		for _, statement := range steps(s.migrations(), have, target(have)) {
			if exists && strings.HasPrefix(statement, "CREATE SCHEMA") {
				continue // even IF NOT EXISTS would ask for a privilege on the database
			}
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return stays(have, err)
			}
		}
		return nil
	})
	if err != nil {
		return unavailable(op, err)
	}
	s.forget()
	return nil
}

// The catalogs are read as tables: to_regclass and its like look into a cache
// that may be older than the lock that was waited for.
const (
	pgHasSchema = `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)`

	pgHasVersions = `
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relname = 'migrations')`
)

type rowQueryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *PostgresStore) exists(ctx context.Context, q rowQueryer, query string) (exists bool, err error) {
	err = q.QueryRowContext(ctx, query, s.schema).Scan(&exists)
	return exists, err
}

// version returns the schema's version, 0 where there is none.
func (s *PostgresStore) version(ctx context.Context, q rowQueryer) (version int, err error) {
	exists, err := s.exists(ctx, q, pgHasVersions)
	if err != nil || !exists {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM `+s.quoted()+`.migrations`).Scan(&version)
	return version, err
}

// versionNow asks in a transaction of its own: see pgRun about poolers.
func (s *PostgresStore) versionNow(ctx context.Context) (version int, err error) {
	err = s.begun(ctx, func(ctx context.Context, tx *sql.Tx) error {
		version, err = s.version(ctx, tx)
		return err
	})
	return version, err
}

// ready refuses an old schema before the first statement.
func (s *PostgresStore) ready(ctx context.Context) error {
	if s.passed.Load() {
		return nil
	}
	return s.check(ctx, len(s.migrations()), s.versionNow)
}

// readyIn is ready within a host's transaction, where a statement that fails
// would make the host's own work void.
func (s *PostgresStore) readyIn(ctx context.Context, tx Tx) error {
	if s.told.Load() {
		return nil
	}
	return s.look(ctx, len(s.migrations()), func(ctx context.Context) (int, error) { return s.version(ctx, tx) })
}

// explained is err, or why the schema is at fault.
func (s *PostgresStore) explained(ctx context.Context, err error) error {
	return s.explain(err, func() error { return s.ready(ctx) })
}

// forgetful has the schema looked at before the next step, where this one within a
// host's transaction, in which nothing can be asked any more, missed something.
func (s *PostgresStore) forgetful(err error) error {
	if missing(err) {
		s.forget()
	}
	return err
}
