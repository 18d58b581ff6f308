package storm

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/checker"
	h "github.com/onejob-go/onejob/faults/history"
	"github.com/onejob-go/onejob/faults/worker"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// askAgain repeats every operation of unknown fate, now that nothing goes wrong:
// each must have a definite answer within three tries (I12). Then it begins an
// attempt at each job without an open one, which nothing may block.
func askAgain(t *testing.T, db *sql.DB, store onejob.Store, histories []string, hook bool, tables string) (more []h.Operation) {
	t.Helper()
	ctx := context.Background()
	lost, err := checker.Lost(histories)
	require.NoError(t, err)
	for n, c := range lost {
		for try := 1; ; try++ {
			c.ID, c.At = fmt.Sprintf("again.%d.%d", n, try), h.Now()
			r := worker.Again(ctx, store, c, hook)
			r.ID, r.At = c.ID, h.Now()
			more = append(more, h.Operation{Call: c, Reply: &r})
			if r.Code != h.Unknown {
				break
			}
			if try == 3 {
				t.Errorf("I12: no definite answer in three tries: %+v: %+v", c, r)
				break
			}
		}
	}
	rows, err := db.Query("SELECT CAST(j.id AS TEXT), key FROM " + tables + "jobs j WHERE state = 'open' AND NOT EXISTS (SELECT 1 FROM " +
		tables + "attempts a WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))")
	require.NoError(t, err)
	free := map[string]string{}
	for rows.Next() {
		var id, key string
		require.NoError(t, rows.Scan(&id, &key))
		free[key] = id
	}
	require.NoError(t, rows.Err())
	for key, id := range free {
		a := uuid.NewString()
		c := h.Call{ID: "free." + key, At: h.Now(), Op: "BeginAttempt", Owner: "OWNER-1", Key: key, Attempt: id + "-" + a[19:23] + a[24:]}
		r := worker.Again(ctx, store, c, hook)
		r.ID, r.At = c.ID, h.Now()
		more = append(more, h.Operation{Call: c, Reply: &r})
		if r.Code != h.OK && r.Code != h.TooMany {
			t.Errorf("I12: a job is blocked without an open attempt: %s: %+v", key, r)
		}
	}
	return more
}

// noSessions waits until the server has nothing left of the workers: no session,
// and with it no transaction and no lock.
func noSessions(t *testing.T, admin *sql.DB) {
	t.Helper()
	var left int
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		require.NoError(t, admin.QueryRow(`SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
			AND application_name <> 'admin') + (SELECT count(*) FROM pg_prepared_xacts)`).Scan(&left))
		if left == 0 {
			return
		}
	}
	t.Errorf("a leak: %d sessions or transactions of dead workers are left", left)
}

// purgeAll empties every job that may be, and asks again: the winner must hear
// that it won, a loser to whom it lost, and a late retry that the key is retired.
func purgeAll(t *testing.T, db *sql.DB, store onejob.Store, tables string) {
	t.Helper()
	ctx := context.Background()
	type done struct {
		id, winner, loser, key string
		params, result         []byte
	}
	rows, err := db.Query("SELECT CAST(j.id AS TEXT), CAST(completed_by AS TEXT), key, params, result, " +
		"(SELECT CAST(max(CAST(a.id AS TEXT)) AS TEXT) FROM " + tables + "attempts a WHERE a.job_id = j.id AND a.id <> j.completed_by) FROM " +
		tables + "jobs j WHERE completed_by IS NOT NULL ORDER BY 1")
	require.NoError(t, err)
	defer rows.Close()
	var before []done
	for rows.Next() {
		var d done
		var loser sql.NullString
		require.NoError(t, rows.Scan(&d.id, &d.winner, &d.key, &d.params, &d.result, &loser))
		d.winner = d.id + "-" + d.winner
		if loser.Valid {
			d.loser = d.id + "-" + loser.String
		}
		before = append(before, d)
	}
	require.NoError(t, rows.Err())
	// A clock that is far ahead, where the host's counts.
	jobs := onejob.New(store, &onejob.Options{Now: func() time.Time { return time.Now().AddDate(30, 0, 0) }})
	op := onejob.NewOperator(jobs)
	for {
		n, err := op.Purge(ctx, onejob.Retention{Payloads: time.Microsecond}, 500)
		require.NoError(t, err)
		if n == 0 {
			break
		}
	}
	for n, d := range before {
		if n == 200 {
			break
		}
		job, list, err := op.Get(ctx, onejob.JobID(d.id))
		require.NoError(t, err)
		require.Equal(t, d.winner, string(job.Attempt.ID), "I2: purge changed the winner")
		if job.PurgedAt.IsZero() {
			require.NotEmpty(t, list) // an open attempt holds it back
			continue
		}
		again, err := jobs.Complete(ctx, *job.Attempt, d.result)
		require.NoError(t, err, "I6: the winner asks again after a purge")
		require.Equal(t, job.Version, again.Version)
		_, _, err = jobs.Create(ctx, onejob.Intent{Owner: "OWNER-1", Key: d.key, Kind: "charge", Params: d.params})
		require.ErrorIs(t, err, onejob.ErrKeyRetired)
		if d.loser == "" {
			continue
		}
		loser := onejob.Attempt{ID: onejob.AttemptID(d.loser), JobID: job.ID, JobVersion: 1}
		late, err := jobs.Complete(ctx, loser, []byte(`"RESULT-of-a-loser"`))
		require.ErrorIs(t, err, onejob.ErrLateResult, "I5: a loser asks after a purge")
		require.Equal(t, d.winner, string(late.Attempt.ID))
	}
	found, err := checker.Secrets(ctx, db, tables)
	require.NoError(t, err)
	require.Empty(t, found, "I9")
	dbtest.Check(t, db, tables)
}
