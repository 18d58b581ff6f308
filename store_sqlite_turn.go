package onejob

import (
	"context"
	"time"
)

const (
	sqliteTurnTaken = `
SELECT 1 FROM {p}turns WHERE name = ?1 AND holder <> ?2 AND until > ?3 AND taken_at <= ?3`

	sqliteTakeTurn = `
INSERT INTO {p}turns (name, holder, taken_at, until) VALUES (?1, ?2, ?3, ?3 + ?4)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, taken_at = excluded.taken_at, until = excluded.until
WHERE holder = excluded.holder OR until <= excluded.taken_at OR taken_at > excluded.taken_at`
)

// TakeTurn implements [TurnStore]. Whoever is refused asks a reader and does not
// wait for the writer.
func (s *SQLiteStore) TakeTurn(ctx context.Context, name, holder string, d time.Duration, clock func() time.Time) (bool, error) {
	_, taken, err := s.write(ctx, write{
		moot: func(ctx context.Context, q runner) (bool, error) {
			var yes int
			return one(ctx, q, []any{&yes}, sqliteTurnTaken, name, holder, clock().UnixMicro())
		},
		run: func(ctx context.Context, q *ownRunner) (Record, bool, error) {
			n, err := q.exec(ctx, sqliteTakeTurn, name, holder, clock().UnixMicro(), d.Microseconds())
			return Record{}, n > 0, err
		},
	})
	return taken, err
}

var _ TurnStore = (*SQLiteStore)(nil)
