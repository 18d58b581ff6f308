package dbtest

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// invariants are queries that must return no row, whatever has happened.
var invariants = []struct{ name, query string }{
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

// checkDigests compares each result that is there with its digest.
func checkDigests(t testing.TB, db *sql.DB, tables string) {
	t.Helper()
	rows, err := db.Query("SELECT id, result, result_digest FROM " + tables + "jobs WHERE result IS NOT NULL")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		var result, digest []byte
		require.NoError(t, rows.Scan(&id, &result, &digest))
		if sum := sha256.Sum256(result); !bytes.Equal(sum[:], digest) {
			t.Errorf("broken invariant: I2: the digest is the result's: %s", id)
		}
	}
	require.NoError(t, rows.Err())
}

// Check fails the test if the rows break an invariant. tables is what stands
// before a table's name.
func Check(t testing.TB, db *sql.DB, tables string) {
	t.Helper()
	checkDigests(t, db, tables)
	for _, inv := range invariants {
		rows, err := db.Query(strings.ReplaceAll(inv.query, "{t}", tables))
		require.NoError(t, err, inv.name)
		for rows.Next() {
			var id string
			require.NoError(t, rows.Scan(&id))
			t.Errorf("broken invariant: %s: %s", inv.name, id)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
}
