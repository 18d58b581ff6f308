package onejob

import (
	"context"
	"time"
)

// It looks first: whoever is refused neither writes nor locks, however many ask.
// Where two look at once, the row's lock and the second look decide; the clock
// is read again behind the lock.
const pgTakeTurn = `
INSERT INTO {schema}.turns AS t (name, holder, taken_at, until)
SELECT $1::text, $2::text, c.now, c.now + $3::bigint * interval '1 microsecond'
FROM (SELECT clock_timestamp() AS now) c
WHERE NOT EXISTS (
	SELECT 1 FROM {schema}.turns o
	WHERE o.name = $1::text AND o.holder <> $2::text AND o.until > c.now AND o.taken_at <= c.now
)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, taken_at = clock_timestamp(), until = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE t.holder = excluded.holder OR t.until <= clock_timestamp() OR t.taken_at > clock_timestamp()
RETURNING true`

// TakeTurn implements [TurnStore].
func (s *PostgresStore) TakeTurn(ctx context.Context, name, holder string, d time.Duration, _ func() time.Time) (bool, error) {
	return pgRun(ctx, s, func(q runner) (taken bool, err error) {
		_, err = one(ctx, q, []any{&taken}, pgTakeTurn, name, holder, d.Microseconds())
		return taken, err
	})
}

var _ TurnStore = (*PostgresStore)(nil)
