package onejob

import (
	"context"
	"time"
)

const pgSettled = `
SELECT w.id FROM unnest(string_to_array($1, ',')::uuid[]) AS w (id)
LEFT JOIN {schema}.jobs j ON j.id = w.id
WHERE j.id IS NULL OR j.state <> 'open' OR EXISTS (SELECT 1 FROM {schema}.attempts a
	WHERE a.job_id = j.id AND a.state IN ('started', 'unknown')
		AND (a.state = 'unknown' OR a.deadline <= clock_timestamp()))`

// Settled implements [WaitStore].
func (s *PostgresStore) Settled(ctx context.Context, ids []JobID, _ func() time.Time) ([]JobID, error) {
	return pgRunPlanned(ctx, s, func(q runner) ([]JobID, error) {
		return settledRows(ctx, q, pgSettled, joinIDs(ids))
	})
}

var _ WaitStore = (*PostgresStore)(nil)
