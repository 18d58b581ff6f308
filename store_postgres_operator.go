package onejob

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// With {unended} the partial index serves; it says no more than the states do.
const pgPage = `
SELECT {entry}, {attempt}, clock_timestamp(), 0, {other}
FROM {schema}.attempts a
JOIN {schema}.jobs j ON j.id = a.job_id
LEFT JOIN {schema}.attempts o ON o.job_id = j.id AND
	(o.id = j.completed_by OR j.completed_by IS NULL AND o.state IN ('started', 'unknown'))
WHERE CASE WHEN $1 THEN a.late_at IS NOT NULL ELSE
		CASE WHEN a.state = 'started' AND a.deadline <= clock_timestamp() THEN 'unknown' ELSE a.state END
			= ANY (string_to_array($2, ',')) END
	AND ($3 = '' OR j.owner = $3) AND ($4 = '' OR j.kind = $4) AND ($5 = '' OR a.provider = $5)
	AND ($6::timestamptz IS NULL OR a.started_at < $6::timestamptz)
	AND ($7::timestamptz IS NULL OR (a.started_at, a.job_id, a.id) > ($7::timestamptz, $8::uuid, $9))
	AND ($11::timestamptz IS NULL OR a.late_at >= $11::timestamptz)`

// Page implements [OperatorStore].
func (s *PostgresStore) Page(ctx context.Context, f Filter, after *Attempt, limit int, _ func() time.Time) ([]Entry, error) {
	var startedAfter, before, lateSince *time.Time
	job, own := noJob, ""
	if after != nil {
		startedAfter, job, own = &after.StartedAt, after.JobID, after.ID.own()
	}
	if !f.Before.IsZero() {
		before = &f.Before
	}
	if !f.LateSince.IsZero() {
		lateSince = &f.LateSince
	}
	statement := pgPage + pageIndex(f) + "\nORDER BY a.started_at, a.job_id, a.id LIMIT $10"
	return pgRunPlanned(ctx, s, func(q runner) ([]Entry, error) {
		rows, err := q.query(ctx, statement, f.Late, joinStates(f.States), f.Owner, f.Kind, f.Provider,
			before, startedAfter, string(job), own, limit, lateSince)
		if err != nil {
			return nil, err
		}
		entries, err := scanEntries(rows)
		return entries, drain(rows, err)
	})
}

// pageIndex repeats the filter in the words of a partial index, where one
// serves.
func pageIndex(f Filter) string {
	if f.Late {
		return "\n\tAND a.late_at IS NOT NULL"
	}
	for _, state := range f.States {
		if state.final() {
			return ""
		}
	}
	return "\n\tAND a.state IN ('started', 'unknown', 'detached')"
}

func joinStates(states []State) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = string(state)
	}
	return strings.Join(names, ",")
}

// SKIP LOCKED waits for nobody, so locking attempts without their jobs cannot
// deadlock. The predicate stands again on the outside: a row may have changed
// before it was locked. Materialized, or the planner may run the choice more
// than once, and each time past the rows that were locked before: then the
// limit is none. IS TRUE keeps the planner from the indexes of open attempts, which
// it takes for small until a sudden backlog has been counted: each row was then
// sought among all of them, 1,000 of 20,000 in ten seconds.
const pgSweep = `
WITH due AS MATERIALIZED (
	SELECT job_id, id FROM {schema}.attempts
	WHERE state = 'started' AND deadline <= now()
	ORDER BY deadline LIMIT $1
	FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {schema}.attempts a SET state = 'unknown'
FROM due
WHERE a.job_id = due.job_id AND a.id = due.id AND (a.state = 'started') IS TRUE AND a.deadline <= clock_timestamp()
RETURNING a.job_id, {attempt}`

// Sweep implements [OperatorStore].
func (s *PostgresStore) Sweep(ctx context.Context, limit int, _ func() time.Time) ([]Attempt, error) {
	return pgRunPlanned(ctx, s, func(q runner) ([]Attempt, error) {
		rows, err := q.query(ctx, pgSweep, limit)
		if err != nil {
			return nil, err
		}
		swept, err := scanAttempts(rows)
		return swept, drain(rows, err)
	})
}

// The jobs are locked by a statement of their own. In one with the rest, the
// snapshot was older than the locks, and an attempt that came back late in
// between outlived the purge. No attempt begins on a final job, so one that has
// none open stays so.
const (
	pgDuePayloads = `
SELECT j.id FROM {schema}.jobs j
WHERE j.purged_at IS NULL AND j.state <> 'open'
	AND j.created_at <= now() - $1::bigint * interval '1 microsecond'
	AND j.ended_at <= now() - $1::bigint * interval '1 microsecond'
	AND NOT EXISTS (SELECT 1 FROM {schema}.attempts a
		WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))
ORDER BY j.created_at LIMIT $2
FOR NO KEY UPDATE SKIP LOCKED`

	// The detached ones are closed: what is closed here is, for the same
	// snapshot, not among those to delete.
	pgPurgePayloads = `
WITH due AS MATERIALIZED (
	SELECT unnest(string_to_array($1, ',')::uuid[]) AS id
), closed AS (
	UPDATE {schema}.attempts a
	SET state = 'canceled', ended_at = clock_timestamp(), by = 'purge', reason = '` + purgeReason + `',
		cause = NULL, external_ref = NULL
	FROM due WHERE a.job_id = due.id AND a.state = 'detached'
), emptied AS (
	UPDATE {schema}.attempts a SET cause = NULL, external_ref = NULL
	FROM due WHERE a.job_id = due.id AND a.state = 'succeeded'
		AND (a.cause IS NOT NULL OR a.external_ref IS NOT NULL)
), gone AS (
	DELETE FROM {schema}.attempts a
	USING due WHERE a.job_id = due.id AND a.state IN ('failed', 'canceled', 'late')
)
UPDATE {schema}.jobs j
SET params = NULL, result = NULL, purged_at = clock_timestamp(), version = j.version + 1
FROM due WHERE j.id = due.id
RETURNING j.id`

	pgDueTombstones = `
SELECT j.id FROM {schema}.jobs j
WHERE j.purged_at IS NOT NULL
	AND j.created_at <= now() - $1::bigint * interval '1 microsecond'
	AND j.ended_at <= now() - $1::bigint * interval '1 microsecond'
ORDER BY j.created_at LIMIT $2
FOR UPDATE SKIP LOCKED`

	pgPurgeTombstones = `
WITH due AS MATERIALIZED (
	SELECT unnest(string_to_array($1, ',')::uuid[]) AS id
), gone AS (
	DELETE FROM {schema}.attempts a USING due WHERE a.job_id = due.id
)
DELETE FROM {schema}.jobs j USING due WHERE j.id = due.id
RETURNING j.id`
)

const purgeReason = "the job is over and its payloads were purged"

// Purge implements [OperatorStore].
func (s *PostgresStore) Purge(ctx context.Context, r Retention, limit int, _ func() time.Time) (int, error) {
	return purge(r, limit, func(payloads bool, age time.Duration, limit int) (n int, err error) {
		due, work := pgDueTombstones, pgPurgeTombstones
		if payloads {
			due, work = pgDuePayloads, pgPurgePayloads
		}
		err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			ids, err := s.texts(ctx, tx, due, wholeMicros(age).Microseconds(), limit)
			if err != nil || len(ids) == 0 {
				return err
			}
			ids, err = s.texts(ctx, tx, work, strings.Join(ids, ","))
			n = len(ids)
			return err
		})
		if err != nil {
			return 0, s.explained(ctx, err)
		}
		return n, nil
	})
}

// texts runs a statement whose rows are one text.
func (s *PostgresStore) texts(ctx context.Context, tx Tx, statement string, args ...any) ([]string, error) {
	rows, err := s.sql.in(tx).query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	texts, err := scanTexts(rows)
	return texts, drain(rows, err)
}

// purge spends the limit on tombstones first, so that a backlog of payloads
// cannot keep them for ever.
func purge(r Retention, limit int, step func(payloads bool, age time.Duration, limit int) (int, error)) (int, error) {
	total := 0
	if r.Tombstones > 0 {
		n, err := step(false, r.Tombstones, limit)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if r.Payloads > 0 && total < limit {
		n, err := step(true, r.Payloads, limit-total)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

const pgStats = `
SELECT
	j.open, j.completed, j.canceled, j.purged, a.started, a.unknown, a.detached, a.oldest_unknown,
	(SELECT count(*) FROM {schema}.attempts WHERE late_at IS NOT NULL) AS late
FROM (
	SELECT count(*) FILTER (WHERE state = 'open') AS open,
		count(*) FILTER (WHERE state = 'completed') AS completed,
		count(*) FILTER (WHERE state = 'canceled') AS canceled,
		count(purged_at) AS purged
	FROM {schema}.jobs
) j, (
	SELECT count(*) FILTER (WHERE state = 'started' AND deadline > now()) AS started,
		count(*) FILTER (WHERE state = 'unknown' OR state = 'started' AND deadline <= now()) AS unknown,
		count(*) FILTER (WHERE state = 'detached') AS detached,
		min(started_at) FILTER (WHERE state = 'unknown' OR state = 'started' AND deadline <= now()) AS oldest_unknown
	FROM {schema}.attempts WHERE state IN ('started', 'unknown', 'detached')
) a`

// Stats implements [OperatorStore].
func (s *PostgresStore) Stats(ctx context.Context, _ func() time.Time) (Stats, error) {
	return pgRunPlanned(ctx, s, func(q runner) (Stats, error) {
		rows, err := q.query(ctx, pgStats)
		if err != nil {
			return Stats{}, err
		}
		var stats []statsRow
		err = sqlx.StructScan(rows, &stats)
		if err = drain(rows, err); err != nil || len(stats) != 1 {
			return Stats{}, err
		}
		return stats[0].stats(), nil
	})
}
