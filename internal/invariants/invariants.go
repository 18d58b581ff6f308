// Package invariants knows what must hold of the rows of every database,
// whatever has happened to it. It brings no test kit along, so that packages
// which hosts import may use it.
package invariants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
)

// queries must return no row.
var queries = []struct{ name, query string }{
	{"I1: a job has at most one winner, and it is the one it names", `
		SELECT j.id FROM {t}jobs j LEFT JOIN {t}attempts a ON a.job_id = j.id AND a.state = 'succeeded'
		GROUP BY j.id, j.completed_by
		HAVING count(a.id) > 1 OR (j.completed_by IS NULL) <> (count(a.id) = 0)
			OR count(a.id) = 1 AND max(a.id) <> j.completed_by`},
	{"I2: a completed job keeps its digest, and its result until it is purged", `
		SELECT id FROM {t}jobs
		WHERE state = 'completed' AND (result_digest IS NULL OR (result IS NULL) <> (purged_at IS NOT NULL))`},
	{"I3: at most one attempt of a job is open", `
		SELECT job_id FROM {t}attempts WHERE state IN ('started', 'unknown') GROUP BY job_id HAVING count(*) > 1`},
	{"I5: a late attempt holds its evidence and lost to somebody", `
		SELECT a.id FROM {t}attempts a JOIN {t}jobs j ON j.id = a.job_id
		WHERE a.state = 'late' AND (a.late_at IS NULL OR j.completed_by = a.id)`},
	{"I13: the version tells how often the job's row changed", `
		SELECT id FROM {t}jobs
		WHERE version <> 1 + CASE WHEN state = 'open' THEN 0 ELSE 1 END + CASE WHEN purged_at IS NULL THEN 0 ELSE 1 END`},
	{"I13: attempt numbers of unpurged jobs are dense", `
		SELECT j.id FROM {t}jobs j JOIN {t}attempts a ON a.job_id = j.id
		WHERE j.purged_at IS NULL GROUP BY j.id HAVING max(a.number) <> count(*) OR min(a.number) <> 1`},
}

// Broken returns a line for each row that breaks an invariant: what should
// hold, and the ID of the row. tables is what stands before a table's name. An
// error says that the rows could not be looked at.
func Broken(ctx context.Context, db *sql.DB, tables string) ([]string, error) {
	broken, err := digests(ctx, db, tables)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		ids, err := texts(ctx, db, strings.ReplaceAll(q.query, "{t}", tables))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		for _, id := range ids {
			broken = append(broken, q.name+": "+id)
		}
	}
	return broken, nil
}

// digests compares each result that is there with its digest.
func digests(ctx context.Context, db *sql.DB, tables string) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, result, result_digest FROM "+tables+"jobs WHERE result IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var broken []string
	for rows.Next() {
		var id string
		var result, digest []byte
		if err := rows.Scan(&id, &result, &digest); err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(result); !bytes.Equal(sum[:], digest) {
			broken = append(broken, "I2: the digest is the result's: "+id)
		}
	}
	return broken, rows.Err()
}

func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
