package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// shell runs the statements of docs/walks.md as a database shell does, which
// puts variables into them.
type shell struct {
	db    *sql.DB
	named string // what the page calls the database
	jobs  *onejob.Jobs
	op    *onejob.Operator
}

func inShells(t *testing.T, test func(t *testing.T, s shell)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		store, err := onejob.NewPostgresStore(db, nil)
		require.NoError(t, err)
		jobs := onejob.New(store, nil)
		test(t, shell{db, "PostgreSQL", jobs, onejob.NewOperator(jobs)})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "jobs.db")
		store, err := onejob.OpenSQLite(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { store.Close() })
		require.NoError(t, store.Migrate(t.Context()))
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
		require.NoError(t, err)
		t.Cleanup(func() {
			dbtest.Check(t, db, "onejob_")
			db.Close()
		})
		jobs := onejob.New(store, nil)
		test(t, shell{db, "SQLite", jobs, onejob.NewOperator(jobs)})
	})
}

// statement is the block of the page that begins with its name.
func (s shell) statement(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("docs/walks.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "```sql\n-- "+s.named+": "+name+"\n")
	require.True(t, ok, "docs/walks.md has no %s for %s", name, s.named)
	text, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	return text
}

var variable = regexp.MustCompile(`:'?([a-z]+)\b'?`)

// run returns how many rows the statement told of, which are those it changed.
func (s shell) run(t *testing.T, name string, values map[string]string) int {
	t.Helper()
	text := strings.ReplaceAll(s.statement(t, name), "::", "\x00")
	text = variable.ReplaceAllStringFunc(text, func(v string) string {
		value, ok := values[strings.Trim(v, ":'")]
		require.True(t, ok, "the page does not set %s", v)
		return pq.QuoteLiteral(value)
	})
	rows, err := s.db.QueryContext(t.Context(), strings.ReplaceAll(text, "\x00", "::"))
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	require.NoError(t, rows.Err())
	return n
}

// doubt makes a job whose one attempt is unknown.
func (s shell) doubt(t *testing.T, key string) onejob.Attempt {
	t.Helper()
	in := onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge"}
	_, a, err := s.jobs.Start(t.Context(), in, onejob.Try{Provider: "primary", Timeout: time.Hour})
	require.NoError(t, err)
	_, err = s.jobs.MarkUnknown(t.Context(), a, errors.New("no answer"))
	require.NoError(t, err)
	return a
}

// told is all that stands of a job and its attempt, but for what differs
// between two jobs with the same story.
func (s shell) told(t *testing.T, id onejob.AttemptID) (onejob.Job, onejob.Attempt) {
	t.Helper()
	job, a, err := s.jobs.GetAttempt(t.Context(), id)
	require.NoError(t, err)
	for _, at := range []time.Time{a.EndedAt, job.EndedAt} {
		require.True(t, at.IsZero() || !at.Before(a.StartedAt) && at.Before(a.StartedAt.Add(time.Hour)), "ended at %s", at)
	}
	ended := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return time.Unix(1, 0)
	}
	a.ID, a.JobID, a.ProviderKey, a.StartedAt, a.Deadline, a.EndedAt = "", "", "", time.Time{}, time.Time{}, ended(a.EndedAt)
	job.ID, job.Key, job.CreatedAt, job.EndedAt, job.Attempt = "", "", time.Time{}, ended(job.EndedAt), nil
	return job, a
}

var word = onejob.Decision{By: "ada", Reason: "it's voided; ticket 4711"}

func words(id onejob.AttemptID, from, to string) map[string]string {
	return map[string]string{"attempt": string(id), "from": from, "to": to, "by": word.By, "reason": word.Reason}
}

// What is decided in a shell must be, column by column, what the operator's
// methods write.
func TestTheSQLOfTheWalkWritesWhatTheOperatorWrites(t *testing.T) {
	t.Parallel()
	inShells(t, func(t *testing.T, s shell) {
		for to, decide := range map[string]func(context.Context, onejob.AttemptID, onejob.Decision) (onejob.Job, error){
			"failed": s.op.Refute, "canceled": s.op.CancelAttempt, "detached": s.op.DetachAttempt,
		} {
			for _, from := range []string{"unknown", "detached"} {
				if from == to {
					continue
				}
				bySQL, byOperator := s.doubt(t, from+to+"-sql"), s.doubt(t, from+to+"-operator")
				if from == "detached" {
					for _, a := range []onejob.Attempt{bySQL, byOperator} {
						_, err := s.op.DetachAttempt(t.Context(), a.ID, onejob.Decision{By: "bob", Reason: "go on"})
						require.NoError(t, err)
					}
				}
				require.Positive(t, s.run(t, "find", nil))
				require.Equal(t, 1, s.run(t, "look", words(bySQL.ID, "", "")))
				require.Equal(t, 1, s.run(t, "decide", words(bySQL.ID, from, to)))
				_, err := decide(t.Context(), byOperator.ID, word)
				require.NoError(t, err)
				job, a := s.told(t, bySQL.ID)
				wantJob, want := s.told(t, byOperator.ID)
				require.Equal(t, want, a)
				require.Equal(t, wantJob, job)
				require.Equal(t, onejob.State(to), a.State)
			}
		}
	})
}

func TestTheSQLOfTheWalkWithdrawsAJobAsTheOperatorDoes(t *testing.T) {
	t.Parallel()
	inShells(t, func(t *testing.T, s shell) {
		bySQL, byOperator := s.doubt(t, "sql"), s.doubt(t, "operator")
		values := map[string]string{"job": string(bySQL.JobID), "by": word.By, "reason": word.Reason}
		require.Equal(t, 1, s.run(t, "cancel job", values))
		_, err := s.op.CancelJob(t.Context(), byOperator.JobID, word)
		require.NoError(t, err)
		job, a := s.told(t, bySQL.ID)
		wantJob, want := s.told(t, byOperator.ID)
		require.Equal(t, want, a)
		require.Equal(t, wantJob, job)
		require.Equal(t, onejob.JobCanceled, job.State)
		require.Zero(t, s.run(t, "cancel job", values), "repeated")
	})
}

// Whoever was quicker stands, and a typing error changes nothing.
func TestTheSQLOfTheWalkOverwritesNothing(t *testing.T) {
	t.Parallel()
	inShells(t, func(t *testing.T, s shell) {
		ctx := t.Context()
		unchanged := func(id onejob.AttemptID, values map[string]string, why string) {
			_, before, err := s.jobs.GetAttempt(ctx, id)
			require.NoError(t, err)
			require.Zero(t, s.run(t, "decide", values), why)
			_, after, err := s.jobs.GetAttempt(ctx, id)
			require.NoError(t, err)
			require.Equal(t, before, after, why)
		}
		end := map[string]func(a onejob.Attempt) error{
			"refuted":   func(a onejob.Attempt) error { _, err := s.op.Refute(ctx, a.ID, word); return err },
			"canceled":  func(a onejob.Attempt) error { _, err := s.op.CancelAttempt(ctx, a.ID, word); return err },
			"detached":  func(a onejob.Attempt) error { _, err := s.op.DetachAttempt(ctx, a.ID, word); return err },
			"completed": func(a onejob.Attempt) error { _, err := s.jobs.Complete(ctx, a, []byte("r")); return err },
			"late": func(a onejob.Attempt) error {
				_, err := s.op.CancelJob(ctx, a.JobID, word)
				require.NoError(t, err)
				_, err = s.jobs.Complete(ctx, a, []byte("r"))
				require.ErrorIs(t, err, onejob.ErrLateResult)
				return nil
			},
		}
		for why, by := range end {
			a := s.doubt(t, why)
			require.NoError(t, by(a))
			for _, to := range []string{"failed", "canceled", "detached"} {
				unchanged(a.ID, words(a.ID, "unknown", to), why)
			}
		}
		_, running, err := s.jobs.Start(ctx, onejob.Intent{Owner: "owner-1", Key: "running", Kind: "charge"},
			onejob.Try{Provider: "primary", Timeout: time.Hour})
		require.NoError(t, err)
		unchanged(running.ID, words(running.ID, "unknown", "failed"), "its process may be at work")
		unchanged(running.ID, words(running.ID, "started", "failed"), "its process may be at work")

		a := s.doubt(t, "mistyped")
		for _, to := range []string{"succeeded", "late", "started", "unknown", "Failed", ""} {
			unchanged(a.ID, words(a.ID, "unknown", to), "to "+to)
		}
		for _, empty := range []string{"by", "reason"} {
			values := words(a.ID, "unknown", "failed")
			values[empty] = " "
			unchanged(a.ID, values, "no "+empty)
		}
		values := map[string]string{"job": string(a.JobID), "by": "", "reason": word.Reason}
		require.Zero(t, s.run(t, "cancel job", values), "no name")
	})
}

// An attempt that nobody has swept is decided like any other.
func TestTheSQLOfTheWalkSeesAnOverdueAttemptAsUnknown(t *testing.T) {
	t.Parallel()
	inShells(t, func(t *testing.T, s shell) {
		_, a, err := s.jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"},
			onejob.Try{Provider: "primary", Timeout: time.Microsecond})
		require.NoError(t, err)
		require.Equal(t, 1, s.run(t, "decide", words(a.ID, "unknown", "failed")))
		_, _, err = s.jobs.Start(t.Context(), onejob.Intent{Owner: "owner-1", Key: "k", Kind: "charge"},
			onejob.Try{Provider: "primary", Timeout: time.Hour})
		require.NoError(t, err)
	})
}
