package onejob_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// tattlePostgres makes the database quote values in its messages, as its own
// ones do in their details.
const tattlePostgres = `
CREATE FUNCTION tattle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'refused: %', to_jsonb(NEW)::text
		USING DETAIL = encode(coalesce(to_jsonb(NEW)::text, '')::bytea, 'base64'), HINT = to_jsonb(NEW)::text;
END $$;
`

// operations are those that write, each on a job that a healthy store made.
func operations(v *vault, in onejob.Intent, job onejob.Job, a onejob.Attempt) map[string]func() error {
	ctx := v.Context()
	return map[string]func() error{
		"Create":       func() error { return errOf3(v.jobs.Create(ctx, v.intent())) },
		"Start":        func() error { _, _, err := v.jobs.Start(ctx, v.intent(), vaultTry); return err },
		"Create again": func() error { return errOf3(v.jobs.Create(ctx, in)) },
		"BeginAttempt": func() error { return errOf2(v.jobs.BeginAttempt(ctx, job, vaultTry)) },
		"Complete":     func() error { return errOf2(v.jobs.Complete(ctx, a, secretResult)) },
		"Fail":         func() error { return errOf2(v.jobs.Fail(ctx, a, errSecret)) },
		"Extend":       func() error { return errOf2(v.jobs.Extend(ctx, a, 2*time.Hour)) },
		"SetExternalRef": func() error {
			return errOf2(v.jobs.SetExternalRef(ctx, a, canary+"-ref"))
		},
		"CancelJob":     func() error { return errOf2(v.op.CancelJob(ctx, job.ID, vaultWord)) },
		"CancelAttempt": func() error { return errOf2(v.op.CancelAttempt(ctx, a.ID, vaultWord)) },
		"Confirm":       func() error { return errOf2(v.op.Confirm(ctx, a.ID, secretResult, vaultWord)) },
		"GetByKey":      func() error { return errOf2(v.jobs.GetByKey(ctx, in.Owner, in.Key)) },
		"Stats":         func() error { return errOf2(v.op.Stats(ctx)) },
		"Purge":         func() error { return errOf2(v.op.Purge(ctx, onejob.Retention{Payloads: 1}, 1)) },
		"Sweep":         func() error { return errOf2(v.op.Sweep(ctx, 1)) },
		"Attempts": func() error {
			for _, err := range v.op.Attempts(ctx, onejob.Filter{Owner: in.Owner}) {
				return err
			}
			return nil
		},
		"Tx": func() error {
			return v.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				return errOf3(v.jobs.CreateTx(ctx, tx, v.intent()))
			})
		},
		"Do": func() error {
			return errOf2(v.jobs.Do(ctx, v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				return secretResult, nil
			}))
		},
	}
}

// Databases put values into their messages: the details of a violated check
// hold the whole row. None of that is passed on.
func TestNoDatabaseErrorShowsASecret(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name, harm string
			failing    []string
		}{
			{"a table is missing", `DROP TABLE onejob.attempts CASCADE`,
				[]string{"Create again", "Start", "BeginAttempt", "Complete", "Fail", "Extend", "SetExternalRef", "CancelJob",
					"CancelAttempt", "Confirm", "GetByKey", "Stats", "Purge", "Sweep", "Attempts", "Do"}},
			{"all tables are missing", `DROP SCHEMA onejob CASCADE`, nil},
			{"a check of the host's own", `ALTER TABLE onejob.jobs ADD CHECK (version > 1) NOT VALID`,
				[]string{"Create", "Start", "Tx", "Do"}},
			{"a trigger that quotes the row", tattlePostgres +
				`CREATE TRIGGER tattle BEFORE INSERT OR UPDATE ON onejob.jobs FOR EACH ROW EXECUTE FUNCTION tattle();
				CREATE TRIGGER tattle BEFORE INSERT OR UPDATE ON onejob.attempts FOR EACH ROW EXECUTE FUNCTION tattle()`,
				[]string{"Create", "Start", "Complete", "Fail", "Extend", "SetExternalRef", "CancelJob", "CancelAttempt", "Confirm", "Tx", "Do"}},
			{"a unique constraint of the host's own", `ALTER TABLE onejob.jobs ADD UNIQUE (kind)`,
				[]string{"Start", "Do"}},
			{"a column that is too narrow", `ALTER TABLE onejob.jobs ALTER key TYPE varchar(12) USING 'short'`,
				[]string{"Create", "Start", "Tx", "Do"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				dsn := dbtest.EmptyPostgresDSN(t)
				v := newVault(t, postgresOn(t, dbtest.OpenPostgres(t, dsn), nil))
				in, job, a := v.start()
				_, err := dbtest.OpenPostgres(t, dsn).Exec(test.harm)
				require.NoError(t, err)
				requireFailures(v, test.failing, operations(v, in, job, a))
			})
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name, harm string
			failing    []string
		}{
			{"a table is missing", `DROP TABLE onejob_attempts`, []string{"BeginAttempt", "Complete", "Start", "GetByKey", "Do"}},
			{"a trigger that quotes the row", `CREATE TRIGGER tattle BEFORE INSERT ON onejob_jobs BEGIN SELECT RAISE(ABORT, NEW.key); END`,
				[]string{"Create", "Start", "Tx", "Do"}},
			{"an index of the host's own", `CREATE UNIQUE INDEX once ON onejob_jobs (owner || kind)`, []string{"Start", "Do"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "onejob.db")
				store := dbtest.OpenSQLite(t, path)
				require.NoError(t, store.Migrate(t.Context()))
				v := newVault(t, store)
				in, job, a := v.start()
				db, err := sql.Open("sqlite", path)
				require.NoError(t, err)
				defer db.Close()
				_, err = db.Exec(test.harm)
				require.NoError(t, err)
				requireFailures(v, test.failing, operations(v, in, job, a))
			})
		}
	})
}

// requireFailures runs all operations. Those named must fail, and none may show
// anything.
func requireFailures(v *vault, failing []string, all map[string]func() error) {
	v.Helper()
	for _, name := range failing {
		require.Contains(v, all, name)
		err := all[name]()
		require.Error(v, err, name)
		e := requireSilent(v.T, name, err)
		require.Contains(v, []error{onejob.ErrUnavailable, onejob.ErrInDoubt, onejob.ErrUnsupported}, e.Err, name)
	}
	for name, run := range all {
		if err := run(); err != nil {
			requireSilent(v.T, name, err)
		}
	}
}

// A statement that the server ends, by a timeout or because its process dies,
// may or may not have been applied, and its error shows nothing.
func TestAStatementThatIsEndedShowsNoSecret(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			name, setting, end string
		}{
			{"statement_timeout", "statement_timeout", ""},
			{"lock_timeout", "lock_timeout", ""},
			{"its process is ended", "", "pg_terminate_backend"},
			{"it is canceled", "", "pg_cancel_backend"},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				dsn := dbtest.PostgresDSN(t)
				admin := dbtest.OpenPostgres(t, dsn)
				v := newVault(t, postgresOn(t, dbtest.OpenPostgres(t, dsn), nil))
				_, job, a := v.start()
				healthy := v.jobs
				if test.setting != "" {
					dsn = withSetting(t, dsn, test.setting, "100ms")
				}
				v.store = postgresOn(t, dbtest.OpenPostgres(t, dsn), nil)
				v.use(onejob.Options{})
				tx, err := admin.Begin()
				require.NoError(t, err)
				defer tx.Rollback()
				_, err = tx.Exec(`SELECT 1 FROM onejob.jobs WHERE id = $1 FOR UPDATE`, string(job.ID))
				require.NoError(t, err)
				fate := make(chan error, 1)
				go func() { fate <- errOf2(v.jobs.Complete(v.Context(), a, secretResult)) }()
				// The library tries once more, so it is ended more than once.
				for ended := false; !ended; {
					select {
					case err = <-fate:
						ended = true
					default:
						endWaiting(t, admin, test.end)
					}
				}
				require.ErrorIs(t, err, onejob.ErrUnavailable)
				requireSilent(t, test.name, err)
				require.NoError(t, tx.Rollback())
				done, err := healthy.Complete(t.Context(), a, secretResult)
				require.NoError(t, err, "asked again, the answer is definite")
				require.Equal(t, a.ID, done.Attempt.ID)
			})
		}
	})
}

// endWaiting calls the function for the server process that waits for a lock,
// where there is one.
func endWaiting(t *testing.T, admin *sql.DB, function string) {
	t.Helper()
	if function == "" {
		return // the server ends it by itself
	}
	_, err := admin.Exec(`SELECT ` + function + `(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	require.NoError(t, err)
}

// A host's transaction that lost a race says so, and no more.
func TestARaceThatATransactionLostShowsNoSecret(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		v := newVault(t, postgresOn(t, db, nil))
		in := v.intent()
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Exec(`SELECT 1`) // takes the snapshot
		require.NoError(t, err)
		_, _, err = v.jobs.Create(t.Context(), in)
		require.NoError(t, err)
		_, _, err = v.jobs.CreateTx(t.Context(), tx, in)
		require.ErrorIs(t, err, onejob.ErrRetryTx)
		requireSilent(t, "CreateTx", err)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := dbtest.SQLitePath(t)
		v := newVault(t, dbtest.OpenSQLite(t, path))
		in := v.intent()
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		tx, err := db.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		var n int
		require.NoError(t, tx.QueryRow(`SELECT count(*) FROM onejob_jobs`).Scan(&n)) // takes the snapshot
		_, _, err = v.jobs.Create(t.Context(), v.intent())
		require.NoError(t, err)
		_, _, err = v.jobs.CreateTx(t.Context(), tx, in)
		require.ErrorIs(t, err, onejob.ErrRetryTx)
		requireSilent(t, "CreateTx", err)
	})
}

// A file that is none, and one that may not be written, are told without
// showing what was to be stored.
func TestABadFileShowsNoSecret(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "onejob.db")
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(canary), 1000), 0o600))
		_, err := onejob.OpenSQLite(t.Context(), path, nil)
		require.Error(t, err)
		requireSilent(t, "OpenSQLite", err)
	})
}
