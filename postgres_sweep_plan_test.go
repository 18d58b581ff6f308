package onejob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// An outage makes many doubts at once, and the planner knows nothing of them
// yet: each that was swept was then sought among all that are open.
func TestSweepOfASuddenBacklogSeeksEachRowOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	for _, statement := range []string{
		`ALTER TABLE onejob.attempts SET (autovacuum_enabled = false)`,
		`ALTER TABLE onejob.jobs SET (autovacuum_enabled = false)`,
		`INSERT INTO onejob.jobs (id, created_at, version, fingerprint_version, opaque, state, owner, key, kind, target, fingerprint, params)
			SELECT gen_random_uuid(), now(), 1, 1, false, 'open', 'o', n::text, 'charge', '', sha256(n::text::bytea), ''
			FROM generate_series(1, 20000) n`,
		attemptsOf(`'failed', now()`, `j.key::int <= 10000`),
		`ANALYZE onejob.attempts`,
		attemptsOf(`'started', NULL`, `j.key::int > 10000`),
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN "+strings.ReplaceAll(onejob.SweepStatement(store), "$1", "1000"))
	require.NoError(t, err)
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	require.Contains(t, plan.String(), "(job_id = due.job_id)", plan.String())
	require.NotContains(t, plan.String(), "Join Filter", plan.String())
}

func attemptsOf(state, which string) string {
	return `INSERT INTO onejob.attempts (job_id, id, number, provider, state, ended_at, job_version, provider_key, timeout, started_at, deadline)
		SELECT j.id, substr(md5(j.id::text), 1, 16), 1, 'primary', ` + state + `, 1, md5(j.id::text), 1, now(), now() - interval '1 hour'
		FROM onejob.jobs j WHERE ` + which
}
