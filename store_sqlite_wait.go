package onejob

import (
	"context"
	"time"
)

const sqliteSettled = `
SELECT w.value FROM json_each('["' || replace(?1, ',', '","') || '"]') w
LEFT JOIN {p}jobs j ON j.id = w.value
WHERE j.id IS NULL OR j.state <> 'open' OR EXISTS (SELECT 1 FROM {p}attempts a
	WHERE a.job_id = j.id AND a.state IN ('started', 'unknown')
		AND (a.state = 'unknown' OR a.deadline <= ?2))`

// Settled implements [WaitStore].
func (s *SQLiteStore) Settled(ctx context.Context, ids []JobID, clock func() time.Time) ([]JobID, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return settledRows(ctx, &s.reads, sqliteSettled, joinIDs(ids), clock().UnixMicro())
}

var _ WaitStore = (*SQLiteStore)(nil)
