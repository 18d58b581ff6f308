package onejob

import (
	"context"
	"database/sql"
)

// pgRun runs a single statement on the pool. It inherits the host's default
// isolation, under which a race that the statement is made for can come back
// as a serialization error: then it runs once more, with the same IDs, in a
// transaction that is read committed.
//
// So does one whose prepared statement the connection has lost, or has under
// another's name: somebody sent DISCARD ALL, or a pooler changed the server; and
// one that was prepared before a migration changed a column's type. They failed
// before they were executed.
//
// Unprepared, every statement runs in such a transaction. Without Prepare
// lib/pq sends Parse in one round trip and Bind in the next, and a pooler may
// put another client's statement between them: one caller's arguments then ran
// with another caller's SQL. Within a transaction the server is pinned.
func pgRun[T any](ctx context.Context, s *PostgresStore, step func(q runner) (T, error)) (T, error) {
	return pgRunOn(ctx, s, &s.sql, step)
}

// pgRunPlanned is pgRun for an operator's rare statements, which are planned
// anew each time: a plan kept from when the tables were empty would walk them
// whole.
func pgRunPlanned[T any](ctx context.Context, s *PostgresStore, step func(q runner) (T, error)) (T, error) {
	return pgRunOn(ctx, s, plainRunner{&s.sql}, step)
}

func pgRunOn[T any](ctx context.Context, s *PostgresStore, first runner, step func(q runner) (T, error)) (T, error) {
	if err := s.ready(ctx); err != nil {
		var none T
		return none, err
	}
	in, generation := s.inOwn, s.sql.generation.Load()
	if !s.sql.unprepared {
		v, err := step(first)
		switch {
		case s.unprepare(err, generation):
			in = s.plainly
		case !serialization(err):
			return v, s.explained(ctx, err)
		}
	}
	var v T
	var err error
	for range 2 {
		err = s.begun(ctx, func(_ context.Context, tx *sql.Tx) (err error) {
			v, err = step(in(tx))
			return err
		})
		if s.unprepare(err, generation) {
			in = s.plainly
		} else if !serialization(err) {
			break
		}
	}
	return v, s.explained(ctx, err)
}

// unprepare reports whether the statement failed for being prepared, before it
// was executed, so that it may be sent once more as plain text.
func (s *PostgresStore) unprepare(err error, generation int64) bool {
	switch {
	case statementGone(err):
		s.gone.Add(1)
	case planStale(err):
		s.sql.forget(generation)
	default:
		return false
	}
	return true
}

func (s *PostgresStore) inOwn(tx *sql.Tx) runner { return s.sql.inOwn(tx) }

// plainly prepares nothing that stays.
func (s *PostgresStore) plainly(tx *sql.Tx) runner { return s.sql.in(tx) }

// pgRun2 is pgRun for steps that also report whether they were applied.
func pgRun2(ctx context.Context, s *PostgresStore, step func(q runner) (Record, bool, error)) (Record, bool, error) {
	type outcome struct {
		rec     Record
		applied bool
	}
	o, err := pgRun(ctx, s, func(q runner) (outcome, error) {
		rec, applied, err := step(q)
		return outcome{rec, applied}, err
	})
	return o.rec, o.applied && err == nil, err
}

// Tx implements [TxStore].
func (s *PostgresStore) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.begun(ctx, fn)
}

// begun is Tx, also where there is no schema yet.
func (s *PostgresStore) begun(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a panic of fn's; otherwise it is over by then
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// change runs a statement that returns the job's record if it was applied.
func (s *PostgresStore) change(ctx context.Context, asked AttemptID, statement string, args []any, extra ...any) (Record, bool, error) {
	return pgRun2(ctx, s, func(q runner) (Record, bool, error) {
		rows, err := q.query(ctx, statement, args...)
		if err != nil {
			return Record{}, false, err
		}
		rec, err := scanRecord(rows, asked, false, extra...)
		err = drain(rows, err)
		return rec, err == nil && rec.Job.ID != "", err
	})
}

// reread reads the job after a change. The statement that made it saw the job
// behind its lock but other attempts as they were before.
func (s *PostgresStore) reread(ctx context.Context, p FindParams) (Record, bool, error) {
	rec, err := s.Find(ctx, p)
	// Purged in between: not applied, says the caller's own look.
	return rec, err == nil && rec.Job.ID != "", err
}
