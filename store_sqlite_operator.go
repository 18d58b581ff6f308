package onejob

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

const sqlitePage = `
SELECT {entry}, {attempt}, ?4, 0, {other}
FROM {p}attempts a
JOIN {p}jobs j ON j.id = a.job_id
LEFT JOIN {p}attempts o ON o.job_id = j.id AND
	(o.id = j.completed_by OR j.completed_by IS NULL AND o.state IN ('started', 'unknown'))
WHERE CASE WHEN ?1 THEN a.late_at IS NOT NULL ELSE
		instr(',' || ?2 || ',', ',' || CASE WHEN a.state = 'started' AND a.deadline <= ?4 THEN 'unknown'
			ELSE a.state END || ',') > 0 END
	AND (?3 = '' OR j.owner = ?3) AND (?5 = '' OR j.kind = ?5) AND (?6 = '' OR a.provider = ?6)
	AND (?7 IS NULL OR a.started_at < ?7)
	AND (?8 IS NULL OR (a.started_at, a.job_id, a.id) > (?8, ?9, ?10))
	AND (?12 IS NULL OR a.late_at >= ?12)`

// Page implements [OperatorStore].
func (s *SQLiteStore) Page(ctx context.Context, f Filter, after *Attempt, limit int, clock func() time.Time) ([]Entry, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	var startedAfter, before, lateSince any
	job, own := noJob, ""
	if after != nil {
		startedAfter, job, own = after.StartedAt.UnixMicro(), after.JobID, after.ID.own()
	}
	if !f.Before.IsZero() {
		before = f.Before.UnixMicro()
	}
	if !f.LateSince.IsZero() {
		lateSince = f.LateSince.UnixMicro()
	}
	statement := sqlitePage + pageIndex(f) + "\nORDER BY a.started_at, a.job_id, a.id LIMIT ?11"
	rows, err := s.reader.QueryContext(ctx, s.sql.get(statement).text, f.Late, joinStates(f.States), f.Owner,
		clock().UnixMicro(), f.Kind, f.Provider, before, startedAfter, string(job), own, limit, lateSince)
	if err != nil {
		return nil, s.explained(ctx, err)
	}
	entries, err := scanEntries(rows)
	return entries, drain(rows, err)
}

// The rows are read first: the columns of RETURNING come from the table alone.
const (
	sqliteDue = `
SELECT a.job_id, {attempt} FROM {p}attempts a
WHERE a.state = 'started' AND a.deadline <= ?4 ORDER BY a.deadline LIMIT ?1`

	sqliteSweep = `
UPDATE {p}attempts SET state = 'unknown'
WHERE job_id = ?1 AND id = ?2 AND state = 'started' AND deadline <= ?3`
)

// Sweep implements [OperatorStore].
func (s *SQLiteStore) Sweep(ctx context.Context, limit int, clock func() time.Time) (swept []Attempt, err error) {
	err = s.alone(ctx, func(ctx context.Context, q executor) error {
		now := clock().UnixMicro()
		rows, err := q.query(ctx, sqliteDue, limit, nil, nil, now)
		if err != nil {
			return err
		}
		swept, err = scanAttempts(rows)
		if err = drain(rows, err); err != nil {
			return err
		}
		for _, a := range swept {
			if _, err := q.exec(ctx, sqliteSweep, string(a.JobID), a.ID.own(), now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return swept, nil
}

// ?1 is the latest end, ?2 the limit, ?3 now. What is due is chosen once, into
// a list, before anything changes.
const (
	sqliteDuePayloads = `
SELECT j.id FROM {p}jobs j
WHERE j.purged_at IS NULL AND j.state <> 'open' AND j.created_at <= ?1 AND j.ended_at <= ?1
	AND NOT EXISTS (SELECT 1 FROM {p}attempts a WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))
ORDER BY j.created_at LIMIT ?2`

	sqliteDueTombstones = `
SELECT j.id FROM {p}jobs j WHERE j.purged_at IS NOT NULL AND j.created_at <= ?1 AND j.ended_at <= ?1
ORDER BY j.created_at LIMIT ?2`

	sqlitePurgeAttempts = `
DELETE FROM {p}attempts WHERE job_id = ?1 AND state IN ('failed', 'canceled', 'late')`

	sqlitePurgeDetached = `
UPDATE {p}attempts
SET state = 'canceled', ended_at = ?2, by = 'purge', reason = '` + purgeReason + `', cause = NULL, external_ref = NULL
WHERE job_id = ?1 AND state = 'detached'`

	sqlitePurgeWinner = `
UPDATE {p}attempts SET cause = NULL, external_ref = NULL WHERE job_id = ?1 AND state = 'succeeded'`

	sqlitePurgeJob = `
UPDATE {p}jobs SET params = NULL, result = NULL, purged_at = ?2, version = version + 1 WHERE id = ?1`

	sqliteRemoveAttempts = `DELETE FROM {p}attempts WHERE job_id = ?1`

	sqliteRemoveJob = `DELETE FROM {p}jobs WHERE id = ?1`
)

// Purge implements [OperatorStore].
func (s *SQLiteStore) Purge(ctx context.Context, r Retention, limit int, clock func() time.Time) (int, error) {
	return purge(r, limit, func(payloads bool, age time.Duration, limit int) (n int, err error) {
		err = s.alone(ctx, func(ctx context.Context, q executor) error {
			now := clock()
			n, err = s.purge(ctx, q, payloads, now.Add(-age).UnixMicro(), limit, now.UnixMicro())
			return err
		})
		if err != nil {
			return 0, err
		}
		return n, nil
	})
}

func (s *SQLiteStore) purge(ctx context.Context, q executor, payloads bool, before int64, limit int, now int64) (int, error) {
	due, work := sqliteDueTombstones, []string{sqliteRemoveAttempts, sqliteRemoveJob}
	if payloads {
		due, work = sqliteDuePayloads, []string{sqlitePurgeAttempts, sqlitePurgeDetached, sqlitePurgeWinner, sqlitePurgeJob}
	}
	rows, err := q.query(ctx, due, before, limit)
	if err != nil {
		return 0, err
	}
	ids, err := scanTexts(rows)
	if err = drain(rows, err); err != nil {
		return 0, err
	}
	for _, id := range ids {
		for _, statement := range work {
			args := []any{id, now}[:1+strings.Count(statement, "?2")]
			if _, err := q.exec(ctx, statement, args...); err != nil {
				return 0, err
			}
		}
	}
	return len(ids), nil
}

const sqliteStats = `
SELECT
	j.open, j.completed, j.canceled, j.purged, a.started, a.unknown, a.detached, a.oldest_unknown,
	(SELECT count(*) FROM {p}attempts WHERE late_at IS NOT NULL) AS late
FROM (
	SELECT count(*) FILTER (WHERE state = 'open') AS open,
		count(*) FILTER (WHERE state = 'completed') AS completed,
		count(*) FILTER (WHERE state = 'canceled') AS canceled,
		count(purged_at) AS purged
	FROM {p}jobs
) j, (
	SELECT count(*) FILTER (WHERE state = 'started' AND deadline > ?1) AS started,
		count(*) FILTER (WHERE state = 'unknown' OR state = 'started' AND deadline <= ?1) AS unknown,
		count(*) FILTER (WHERE state = 'detached') AS detached,
		min(started_at) FILTER (WHERE state = 'unknown' OR state = 'started' AND deadline <= ?1) AS oldest_unknown
	FROM {p}attempts WHERE state IN ('started', 'unknown', 'detached')
) a`

// Stats implements [OperatorStore].
func (s *SQLiteStore) Stats(ctx context.Context, clock func() time.Time) (Stats, error) {
	if err := s.ready(ctx); err != nil {
		return Stats{}, err
	}
	rows, err := s.reader.QueryContext(ctx, s.sql.get(sqliteStats).text, clock().UnixMicro())
	if err != nil {
		return Stats{}, s.explained(ctx, err)
	}
	var stats []statsRow
	err = sqlx.StructScan(rows, &stats)
	if err = drain(rows, err); err != nil || len(stats) != 1 {
		return Stats{}, err
	}
	return stats[0].stats(), nil
}

// Doctor implements [OperatorStore].
func (s *SQLiteStore) Doctor(ctx context.Context) ([]Finding, error) {
	var list []Finding
	err := s.locked(ctx, func() error {
		conn, done, err := s.takeWriter(ctx)
		if err != nil {
			return err
		}
		defer done()
		p, err := readPragmas(ctx, conn)
		if err != nil {
			return err
		}
		list = p.findings()
		if f, bad := s.fileFinding(); bad {
			list = append(list, f)
		}
		have, err := s.version(ctx, conn)
		list = append(list, schemaFindings(have, len(s.migrations()))...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (p pragmas) findings() []Finding {
	var list []Finding
	if p.journal != "wal" {
		list = append(list, Finding{"journal_mode", p.journal, p.journal == "memory" || p.journal == "off",
			"set PRAGMA journal_mode = WAL: readers and the writer block each other without it"})
	}
	if p.synchronous < 2 {
		list = append(list, Finding{"synchronous", strconv.Itoa(p.synchronous), true,
			"a loss of power takes acknowledged results with it: set PRAGMA synchronous = FULL"})
	}
	if p.busyTimeout < 1000 {
		list = append(list, Finding{"busy_timeout", strconv.Itoa(p.busyTimeout), false,
			"another process that writes makes calls fail: set PRAGMA busy_timeout = 5000"})
	}
	if p.foreignKeys != 1 {
		list = append(list, Finding{"foreign_keys", "off", true, "set PRAGMA foreign_keys = ON on each connection"})
	}
	return list
}

// fileFinding tells whether the file that is open is still the one at its path:
// SQLite goes on writing into a file that was deleted or replaced.
func (s *SQLiteStore) fileFinding() (Finding, bool) {
	s.mu.Lock()
	file, info := s.file, s.info
	s.mu.Unlock()
	f := Finding{Setting: "file", Breaks: true,
		Advice: "the open file is not the one at its path: what is written now is lost, restart on the right one"}
	if file == "" {
		return f, false // in memory, or not used yet
	}
	now, err := os.Stat(file)
	switch {
	case err != nil || info == nil:
		f.Value = "gone"
	case !os.SameFile(info, now):
		f.Value = "replaced"
	default:
		return f, false
	}
	return f, true
}
