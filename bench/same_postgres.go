package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// samePg sends the very statements that the library sends, with the least code
// around them: prepared, on lib/pq, and what comes back is only taken from the wire.
type samePg struct {
	db                             *sql.DB
	create, start, begin, complete *sql.Stmt
}

// openSamePg asks the server what the library has prepared.
func openSamePg(ctx context.Context, dsn string) (*samePg, error) {
	one, err := pgPool(dsn, 1)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	store, err := onejob.NewPostgresStore(one, nil)
	if err != nil {
		return nil, err
	}
	scratch := &pg{db: one, jobs: onejob.New(store, nil)}
	if err := scratch.ThreeCalls(ctx, 0); err != nil {
		return nil, err
	}
	if err := scratch.Cycle(ctx, 0); err != nil {
		return nil, err
	}
	rows, err := one.QueryContext(ctx, "SELECT statement FROM pg_prepared_statements")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	s := &samePg{}
	if s.db, err = pgPool(dsn, poolSize); err != nil {
		return nil, err
	}
	for begins, stmt := range map[string]**sql.Stmt{
		"INSERT INTO": &s.create, "WITH j AS (": &s.start, "WITH seen": &s.begin, "WITH j AS MATERIALIZED": &s.complete,
	} {
		for _, text := range texts {
			if strings.HasPrefix(strings.TrimSpace(text), begins) {
				if *stmt, err = s.db.PrepareContext(ctx, text); err != nil {
					return nil, err
				}
			}
		}
		if *stmt == nil {
			return nil, fmt.Errorf("the library has prepared no statement that begins with %q", begins)
		}
	}
	return s, nil
}

// skip takes a column and does nothing with it.
type skip struct{}

// Scan implements sql.Scanner.
func (skip) Scan(any) error { return nil }

var skipped = func() []any {
	list := make([]any, 64)
	for i := range list {
		list[i] = skip{}
	}
	return list
}()

// query reads one row, and nothing of it.
func query(ctx context.Context, stmt *sql.Stmt, columns int, args ...any) error {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	dest := skipped[:columns]
	if !rows.Next() {
		rows.Close()
		return fmt.Errorf("no row: %v", rows.Err())
	}
	if err := rows.Scan(dest...); err != nil {
		rows.Close()
		return err
	}
	rows.Next()
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

func (s *samePg) Create(ctx context.Context, _ int) error {
	id, err := newID()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(params)
	return query(ctx, s.create, 1, id, "owner-1", key(), "charge", "", params, false, sum[:], 1)
}

func (s *samePg) Begin(ctx context.Context, job, owner string) error {
	a, err := own()
	if err != nil {
		return err
	}
	return query(ctx, s.begin, 43, job, owner, a, "primary", time.Minute.Microseconds(), 32)
}

func (s *samePg) Complete(ctx context.Context, job, attempt string) error {
	sum := sha256.Sum256(result)
	return query(ctx, s.complete, 38, job, attempt, 1, result, sum[:], len(result), false, nil, nil)
}

// Start returns the new job's and attempt's IDs.
func (s *samePg) Start(ctx context.Context) (id, a string, err error) {
	if id, err = newID(); err != nil {
		return "", "", err
	}
	if a, err = own(); err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(params)
	return id, a, query(ctx, s.start, 2, id, "owner-1", key(), "charge", "", params, false, sum[:], 1, a, "primary", providerKey(id),
		time.Minute.Microseconds())
}

func (s *samePg) Cycle(ctx context.Context, _ int) error {
	id, a, err := s.Start(ctx)
	if err != nil {
		return err
	}
	return s.Complete(ctx, id, a)
}

// CycleInTx is a Start, and a Complete in one transaction with a row of the
// host's.
func (s *samePg) CycleInTx(ctx context.Context, _ int) error {
	id, a, err := s.Start(ctx)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	digest := sha256.Sum256(result)
	err = query(ctx, tx.StmtContext(ctx, s.complete), 38, id, a, 1, result, digest[:], len(result), false, nil, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO receipts VALUES ($1, $2)", id, 1299); err != nil {
		return err
	}
	return tx.Commit()
}
