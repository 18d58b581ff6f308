package onejob

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
)

// Migrate brings the tables to the version this program needs, in one
// transaction. It is safe to call from any number of processes at once, and
// does nothing where all is done. Tables of a newer version are left alone.
func (s *SQLiteStore) Migrate(ctx context.Context) error {
	return s.migrate(ctx, "Migrate", func(have int) int { return max(have, len(s.migrations())) })
}

// MigrateTo brings the tables to a version, up or down. Version 0 removes them
// AND ALL JOBS WITH THEM.
func (s *SQLiteStore) MigrateTo(ctx context.Context, version int) error {
	const op = "MigrateTo"
	if err := checkTarget(s.migrations(), version); err != nil {
		return named(op, err)
	}
	return s.migrate(ctx, op, func(int) int { return version })
}

// Migrations returns the migrations with the prefix written out, for hosts
// that run them with a tool of their own: the directory goose is for goose,
// migrate for golang-migrate. Whoever runs them, Migrate knows.
func (s *SQLiteStore) Migrations() fs.FS { return migrationFS(s.migrations()) }

func (s *SQLiteStore) migrations() []migration {
	return migrations("sqlite", strings.NewReplacer("{prefix}", s.prefix))
}

func (s *SQLiteStore) migrate(ctx context.Context, op string, target func(have int) int) error {
	err := s.locked(ctx, func() error {
		return s.immediately(ctx, func(ctx context.Context, q execer) error {
			have, err := s.version(ctx, q)
			if err != nil {
				return err
			}
			for _, statement := range steps(s.migrations(), have, target(have)) {
				if _, err := q.ExecContext(ctx, statement); err != nil {
					return stays(have, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		return unavailable(op, err)
	}
	s.forget()
	return nil
}

// version returns the tables' version, 0 where there are none.
func (s *SQLiteStore) version(ctx context.Context, q execer) (int, error) {
	var tables, version int
	err := q.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1`,
		s.prefix+"migrations").Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM `+s.prefix+`migrations`).Scan(&version)
	return version, err
}

// ready refuses old tables before the first statement, and looks at the writer
// before the first read.
func (s *SQLiteStore) ready(ctx context.Context) error {
	if s.passed.Load() {
		return nil
	}
	err := s.locked(ctx, func() error {
		return s.onWriter(ctx, func(context.Context, *sql.Conn) error { return nil })
	})
	if err != nil {
		return err
	}
	err = s.check(ctx, len(s.migrations()), func(ctx context.Context) (int, error) { return s.version(ctx, s.reader) })
	if err != nil || !s.keeps {
		return err
	}
	return s.locked(ctx, func() error {
		s.kept.drop() // what could not be prepared can be now
		return nil
	})
}

// readyIn is ready within a host's transaction. The writer is the host's affair
// there.
func (s *SQLiteStore) readyIn(ctx context.Context, tx Tx) error {
	if s.told.Load() {
		return nil
	}
	return s.look(ctx, len(s.migrations()), func(ctx context.Context) (int, error) { return s.version(ctx, tx) })
}

// explained is err, or why the tables are at fault. Nobody may hold the writer.
func (s *SQLiteStore) explained(ctx context.Context, err error) error {
	return s.explain(err, func() error { return s.ready(ctx) })
}
