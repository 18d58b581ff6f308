package onejob_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Everything secret in these tests holds this word: owners, keys, params,
// scopes, results and the texts of causes.
const canary = "canary"

// canaryForms are the ways in which the word could come out of fmt, of JSON, or
// of a database's message.
var canaryForms = func() []string {
	forms := []string{canary, hex.EncodeToString([]byte(canary)),
		strings.Trim(fmt.Sprint([]byte(canary)), "[]"),
		strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(canary)), "[]byte{"), "}")}
	for shift := range 3 {
		// Only the letters that do not depend on what stands around it.
		text := base64.StdEncoding.EncodeToString([]byte("xxx"[:shift] + canary))
		forms = append(forms, text[(shift*8+5)/6:(shift+len(canary))*8/6])
	}
	return forms
}()

// leaks returns the forms of the word that text shows.
func leaks(text string) []string {
	var found []string
	for _, form := range canaryForms {
		if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			found = append(found, form)
		}
	}
	return found
}

func TestTheLeakDetectorKnowsItsWord(t *testing.T) {
	t.Parallel()
	secret := []byte(`{"p":"` + canary + `"}`)
	for _, text := range []string{
		string(secret), fmt.Sprint(secret), fmt.Sprintf("%#v", secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
		base64.StdEncoding.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret[1:]),
		base64.StdEncoding.EncodeToString(secret[2:]),
	} {
		require.NotEmpty(t, leaks(text), text)
	}
	require.Empty(t, leaks("onejob: Create: job 0198 (pending)"))
}

// requireHidden prints a value in every way that ends up in a log.
func requireHidden(t *testing.T, name string, v any) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(verb, v)
		require.Empty(t, leaks(text), "%s with %s: %s", name, verb, text)
	}
}

// requireUnlogged logs values with both of the standard library's handlers.
func requireUnlogged(t *testing.T, name string, values ...any) {
	t.Helper()
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		for _, v := range values {
			slog.New(handler).Info("logged", "value", v, slog.Group("group", "value", v))
		}
	}
	require.Empty(t, leaks(out.String()), "%s: %s", name, out.String())
}

// requireSilent requires that neither the error nor anything it carries shows
// a secret, and that it is one of the library's.
func requireSilent(t *testing.T, name string, err error) *onejob.Error {
	t.Helper()
	var e *onejob.Error
	require.ErrorAs(t, err, &e, name)
	for _, v := range []error{err, fmt.Errorf("host: %w", err), errors.Join(errors.New("host"), err)} {
		require.Empty(t, leaks(v.Error()), "%s: %s", name, v.Error())
		requireUnlogged(t, name, v)
	}
	requireHidden(t, name, err)
	requireHidden(t, name, e.Job)
	requireHidden(t, name, &e.Job)
	requireHidden(t, name, e.Attempt)
	requireUnlogged(t, name, e.Job, &e.Job, e.Job.Intent, e.Attempt)
	return e
}

// lockedBuffer takes log lines from many goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// vault is a store full of secrets.
type vault struct {
	*testing.T
	store onejob.Store
	jobs  *onejob.Jobs
	op    *onejob.Operator
	log   lockedBuffer
	keys  int
}

func newVault(t *testing.T, store onejob.Store) *vault {
	v := &vault{T: t, store: store}
	v.use(onejob.Options{})
	// The log is looked at whatever the test is about.
	t.Cleanup(func() { require.Empty(t, leaks(v.log.String()), v.log.String()) })
	return v
}

func (v *vault) use(o onejob.Options) {
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	o.Logger = slog.New(slog.NewMultiHandler(slog.NewTextHandler(&v.log, level), slog.NewJSONHandler(&v.log, level)))
	v.jobs = onejob.New(v.store, &o)
	v.op = onejob.NewOperator(v.jobs)
}

// intent is an intent with secrets, of a key that no test used before.
func (v *vault) intent() onejob.Intent {
	v.keys++
	return onejob.Intent{
		Owner: canary + "-owner", Key: fmt.Sprintf("%s-key-%s-%d", canary, v.Name(), v.keys), Kind: "charge",
		Params: []byte(`{"` + canary + `": "` + canary + `-params"}`), Scope: []string{canary + "-scope"},
	}
}

var (
	secretResult = []byte(canary + "-result")
	secretCause  = errors.New(canary + "-cause")
	vaultTry     = onejob.Try{Provider: "acme", Timeout: time.Hour}
	vaultWord    = onejob.Decision{By: canary + "-by", Reason: canary + "-reason"}
)

func (v *vault) start() (onejob.Intent, onejob.Job, onejob.Attempt) {
	v.Helper()
	in := v.intent()
	job, a, err := v.jobs.Start(v.Context(), in, vaultTry)
	require.NoError(v, err)
	return in, job, a
}

func (v *vault) completed() (onejob.Intent, onejob.Job, onejob.Attempt) {
	v.Helper()
	in, _, a := v.start()
	job, err := v.jobs.Complete(v.Context(), a, secretResult)
	require.NoError(v, err)
	return in, job, a
}

// must passes on the value of a step that makes the case ready.
func must[T any](v *vault, value T, err error) T {
	v.Helper()
	require.NoError(v, err)
	return value
}

// secretRefusals bring about each refusal there is.
var secretRefusals = []struct {
	name string
	want error
	run  func(v *vault) error
}{
	{"owner with a control character", onejob.ErrInvalid, func(v *vault) error {
		in := v.intent()
		in.Owner += "\n"
		return errOf3(v.jobs.Create(v.Context(), in))
	}},
	{"key that is too long", onejob.ErrInvalid, func(v *vault) error {
		in := v.intent()
		in.Key = strings.Repeat(canary, 50)
		return errOf3(v.jobs.Create(v.Context(), in))
	}},
	{"key that is no UTF-8", onejob.ErrInvalid, func(v *vault) error {
		_, err := v.jobs.GetByKey(v.Context(), canary, canary+"\xff")
		return err
	}},
	{"kind that is too long", onejob.ErrInvalid, func(v *vault) error {
		in := v.intent()
		in.Kind = strings.Repeat(canary, 20)
		return errOf3(v.jobs.Create(v.Context(), in))
	}},
	{"params that are no JSON", onejob.ErrInvalid, func(v *vault) error {
		in := v.intent()
		in.Params = []byte(canary)
		return errOf3(v.jobs.Create(v.Context(), in))
	}},
	{"params with a name twice", onejob.ErrInvalid, func(v *vault) error {
		in := v.intent()
		in.Params = []byte(`{"` + canary + `":1,"` + canary + `":2}`)
		_, _, err := v.jobs.Start(v.Context(), in, vaultTry)
		return err
	}},
	{"params that are too large", onejob.ErrInvalid, func(v *vault) error {
		v.use(onejob.Options{MaxParams: 8})
		return errOf3(v.jobs.Create(v.Context(), v.intent()))
	}},
	{"result that is too large", onejob.ErrInvalid, func(v *vault) error {
		_, _, a := v.start()
		v.use(onejob.Options{MaxResult: 8})
		_, err := v.jobs.Complete(v.Context(), a, secretResult)
		return err
	}},
	{"try without a timeout", onejob.ErrInvalid, func(v *vault) error {
		_, _, err := v.jobs.Start(v.Context(), v.intent(), onejob.Try{Provider: "acme"})
		return err
	}},
	{"try with an ID that is none", onejob.ErrInvalid, func(v *vault) error {
		_, _, err := v.jobs.Start(v.Context(), v.intent(), onejob.Try{ID: canary, Provider: "acme", Timeout: 1})
		return err
	}},
	{"try of another job", onejob.ErrInvalid, func(v *vault) error {
		_, _, a := v.start()
		in, _, _ := v.start()
		_, _, err := v.jobs.Start(v.Context(), in, onejob.Try{ID: a.ID, Provider: "acme", Timeout: 1})
		return err
	}},
	{"two external references", onejob.ErrInvalid, func(v *vault) error {
		_, _, a := v.start()
		must(v, onejob.Attempt{}, errOf2(v.jobs.SetExternalRef(v.Context(), a, canary+"-ref")))
		return errOf2(v.jobs.SetExternalRef(v.Context(), a, canary+"-other"))
	}},
	{"another owner's job", onejob.ErrNotFound, func(v *vault) error {
		_, job, _ := v.start()
		return errOf2(v.jobs.Get(v.Context(), canary+"-stranger", job.ID))
	}},
	{"a key that nobody used", onejob.ErrNotFound, func(v *vault) error {
		return errOf2(v.jobs.GetByKey(v.Context(), canary, canary))
	}},
	{"a job whose ID is none", onejob.ErrNotFound, func(v *vault) error {
		return errOf2(v.jobs.Get(v.Context(), canary, canary))
	}},
	{"other input", onejob.ErrKeyConflict, func(v *vault) error {
		in, _, _ := v.completed()
		in.Params = []byte(`"` + canary + `-other"`)
		return errOf3(v.jobs.Create(v.Context(), in))
	}},
	{"a purged key", onejob.ErrKeyRetired, func(v *vault) error {
		in, _, _ := v.completed()
		for {
			_, err := v.op.Purge(v.Context(), onejob.Retention{Payloads: time.Microsecond}, 100)
			require.NoError(v, err)
			if _, _, err = v.jobs.Create(v.Context(), in); err != nil {
				return err
			}
		}
	}},
	{"an attempt that runs", onejob.ErrAttemptOpen, func(v *vault) error {
		_, job, _ := v.start()
		return errOf2(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
	}},
	{"an attempt in doubt", onejob.ErrInDoubt, func(v *vault) error {
		in, _, a := v.start()
		must(v, 0, errOf2(v.jobs.Fail(v.Context(), a, secretCause)))
		_, _, err := v.jobs.Start(v.Context(), in, vaultTry)
		return err
	}},
	{"a call that failed without proof", onejob.ErrInDoubt, func(v *vault) error {
		return errOf2(v.jobs.Do(v.Context(), v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return secretResult, fmt.Errorf("provider: %w", secretCause)
		}))
	}},
	{"a call that failed with proof", onejob.ErrFailed, func(v *vault) error {
		return errOf2(v.jobs.Do(v.Context(), v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return secretResult, onejob.NoEffect(secretCause)
		}))
	}},
	{"a call whose result is too large", onejob.ErrInDoubt, func(v *vault) error {
		v.use(onejob.Options{MaxResult: 8})
		return errOf2(v.jobs.Do(v.Context(), v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return secretResult, nil
		}))
	}},
	{"a completed job", onejob.ErrCompleted, func(v *vault) error {
		_, job, _ := v.completed()
		return errOf2(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
	}},
	{"a completed job that is to be canceled", onejob.ErrCompleted, func(v *vault) error {
		_, job, _ := v.completed()
		return errOf2(v.op.CancelJob(v.Context(), job.ID, vaultWord))
	}},
	{"a canceled job", onejob.ErrJobCanceled, func(v *vault) error {
		in := v.intent()
		job, _, err := v.jobs.Create(v.Context(), in)
		require.NoError(v, err)
		must(v, job, errOf2(v.op.CancelJob(v.Context(), job.ID, vaultWord)))
		_, _, err = v.jobs.Start(v.Context(), in, vaultTry)
		return err
	}},
	{"too many attempts", onejob.ErrTooManyAttempts, func(v *vault) error {
		v.use(onejob.Options{MaxAttempts: 1})
		_, job, a := v.start()
		must(v, job, errOf2(v.jobs.Fail(v.Context(), a, onejob.NoEffect(secretCause))))
		return errOf2(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
	}},
	{"a late result", onejob.ErrLateResult, func(v *vault) error {
		_, job, a := v.start()
		must(v, job, errOf2(v.op.CancelAttempt(v.Context(), a.ID, vaultWord)))
		other := must2(v)(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
		must(v, job, errOf2(v.jobs.Complete(v.Context(), other, secretResult)))
		_, err := v.jobs.Complete(v.Context(), a, []byte(canary+"-loser"))
		require.Contains(v, v.log.String(), string(a.ID), "a late result is logged")
		return err
	}},
	{"a late result in a transaction whose evidence is lost", onejob.ErrLateResult, func(v *vault) error {
		_, _, a := v.start()
		must(v, 0, errOf2(v.op.CancelAttempt(v.Context(), a.ID, vaultWord)))
		// The store goes away while the transaction runs.
		return v.jobs.Tx(v.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := v.jobs.CompleteTx(ctx, tx, a, secretResult)
			require.ErrorIs(v, err, onejob.ErrLateResult)
			v.breakStore()
			return nil
		})
	}},
	{"another result of the winner", onejob.ErrResultMismatch, func(v *vault) error {
		_, _, a := v.completed()
		return errOf2(v.jobs.Complete(v.Context(), a, []byte(canary+"-second")))
	}},
	{"an attempt that has ended", onejob.ErrAttemptEnded, func(v *vault) error {
		_, _, a := v.completed()
		return errOf2(v.jobs.Fail(v.Context(), a, secretCause))
	}},
	{"an attempt that an operator cannot confirm", onejob.ErrCompleted, func(v *vault) error {
		_, job, a := v.start()
		must(v, job, errOf2(v.op.DetachAttempt(v.Context(), a.ID, vaultWord)))
		other := must2(v)(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
		must(v, job, errOf2(v.jobs.Complete(v.Context(), other, secretResult)))
		return errOf2(v.op.Confirm(v.Context(), a.ID, []byte(canary+"-loser"), vaultWord))
	}},
	{"a qualification", onejob.ErrUnsupported, func(v *vault) error {
		try := vaultTry
		try.Require = &onejob.Requirement{Contract: canary}
		_, _, err := v.jobs.Start(v.Context(), v.intent(), try)
		return err
	}},
	{"a context that has ended", onejob.ErrUnavailable, func(v *vault) error {
		ctx, cancel := context.WithCancelCause(v.Context())
		cancel(secretCause)
		return errOf3(v.jobs.Create(ctx, v.intent()))
	}},
	{"a store that is gone", onejob.ErrUnavailable, func(v *vault) error {
		v.breakStore()
		_, _, err := v.jobs.Start(v.Context(), v.intent(), vaultTry)
		return err
	}},
}

func errOf2[T any](_ T, err error) error         { return err }
func errOf3[T, U any](_ T, _ U, err error) error { return err }

func must2(v *vault) func(onejob.Attempt, error) onejob.Attempt {
	return func(a onejob.Attempt, err error) onejob.Attempt { return must(v, a, err) }
}

// breakStore closes the store's pools: what is under way goes on.
func (v *vault) breakStore() {
	v.Helper()
	switch store := v.store.(type) {
	case *brokenLater:
		store.pool.Close()
	case *onejob.SQLiteStore:
		require.NoError(v, store.Close())
	}
}

// brokenLater is a store on PostgreSQL whose pool a test may close.
type brokenLater struct {
	*onejob.PostgresStore
	pool *sql.DB
}

func newBrokenLater(t *testing.T, dsn string) *brokenLater {
	pool := dbtest.OpenPostgres(t, dsn)
	return &brokenLater{postgresOn(t, pool, nil), pool}
}

func TestNoRefusalShowsASecret(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, open func(t *testing.T) onejob.Store) {
		seen := map[error]bool{}
		for _, test := range secretRefusals {
			seen[test.want] = true
			t.Run(test.name, func(t *testing.T) {
				v := newVault(t, open(t))
				err := test.run(v)
				require.ErrorIs(t, err, test.want)
				requireSilent(t, test.name, err)
			})
		}
		// ErrRetryTx is brought about below. Nothing gives ErrNotQualified: no
		// store keeps qualifications.
		for _, sentinel := range []error{
			onejob.ErrInvalid, onejob.ErrNotFound, onejob.ErrKeyConflict, onejob.ErrKeyRetired, onejob.ErrAttemptOpen,
			onejob.ErrInDoubt, onejob.ErrFailed, onejob.ErrCompleted, onejob.ErrJobCanceled, onejob.ErrTooManyAttempts,
			onejob.ErrLateResult, onejob.ErrResultMismatch, onejob.ErrAttemptEnded, onejob.ErrUnsupported, onejob.ErrUnavailable,
		} {
			require.True(t, seen[sentinel], sentinel.Error())
		}
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.PostgresDSN(t)
		check(t, func(t *testing.T) onejob.Store { return newBrokenLater(t, dsn) })
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := dbtest.SQLitePath(t)
		check(t, func(t *testing.T) onejob.Store { return dbtest.OpenSQLite(t, path) })
	})
}

// What a host holds in its hands may be logged whole.
func TestNoValueShowsASecret(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		v := newVault(t, store)
		in, running, a := v.start()
		must(v, a, errOf2(v.jobs.SetExternalRef(t.Context(), a, canary+"-ref")))
		must(v, a, errOf2(v.jobs.MarkUnknown(t.Context(), a, secretCause)))
		_, done, winner := v.completed()
		unknown, a, err := v.jobs.GetAttempt(t.Context(), a.ID)
		require.NoError(t, err)
		canceled, _, err := v.jobs.Create(t.Context(), v.intent())
		require.NoError(t, err)
		canceled, err = v.op.CancelJob(t.Context(), canceled.ID, vaultWord)
		require.NoError(t, err)
		require.Equal(t, secretResult, done.Result)
		require.NotEmpty(t, a.Cause)

		for _, value := range []any{in, &in, running, &running, done, &done, unknown, canceled, a, &a, winner} {
			requireHidden(t, fmt.Sprintf("%T", value), value)
			requireUnlogged(t, fmt.Sprintf("%T", value), value)
		}
		requireHidden(t, "slice", []onejob.Job{running, done, unknown, canceled})
		requireHidden(t, "slice", []onejob.Attempt{a, winner})
		requireHidden(t, "map", map[string]onejob.Job{"job": done})
		requireHidden(t, "struct", struct {
			Job     onejob.Job
			Attempt *onejob.Attempt
			Intent  onejob.Intent
		}{done, &a, in})
		entries := 0
		for e, err := range v.op.Attempts(t.Context(), onejob.Filter{States: []onejob.State{a.State, onejob.StateSucceeded}}) {
			require.NoError(t, err)
			requireHidden(t, "Entry", e)
			requireHidden(t, "Entry", &e)
			entries++
		}
		require.Equal(t, 2, entries)
		// Hidden does not mean useless.
		require.Contains(t, done.String(), string(done.ID))
		require.Contains(t, done.String(), fmt.Sprintf("result_size=%d", len(secretResult)))
		require.Contains(t, a.String(), string(a.ID))
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
	})
}

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
		"Fail":         func() error { return errOf2(v.jobs.Fail(ctx, a, secretCause)) },
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
		require.Contains(v, []error{onejob.ErrUnavailable, onejob.ErrInDoubt}, e.Err, name)
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
			{"statement_timeout", "&statement_timeout=100", ""},
			{"lock_timeout", "&lock_timeout=100", ""},
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
				v.store = postgresOn(t, dbtest.OpenPostgres(t, dsn+test.setting), nil)
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

// A generator of IDs that is broken is found out before anything is written.
func TestMalformedIDsAreRefused(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		v := newVault(t, store)
		job, _, err := v.jobs.Create(t.Context(), v.intent())
		require.NoError(t, err)
		for _, id := range []string{
			"", canary, "0", "00000000000000000000000000000000", "0198C0DE-0000-7000-8000-000000000000",
			"{0198c0de-0000-7000-8000-000000000000}", "urn:uuid:0198c0de-0000-7000-8000-000000000000",
			"0198c0de-0000-7000-8000-00000000000", "0198c0de-0000-7000-8000-0000000000000", "0198c0de-0000-7000-8000-00000000000g",
			"0198c0de-0000-7000-8000-00000000000'", "0198c0de_0000-7000-8000-000000000000", "0198c0de-0000-7000-8000-000000000000 ",
			" 0198c0de-0000-7000-8000-00000000000", "0198c0de-0000-7000-8000-0000000000\x00\x00",
		} {
			v.use(onejob.Options{NewID: func() string { return id }})
			in := v.intent()
			_, _, startErr := v.jobs.Start(t.Context(), in, vaultTry)
			for op, err := range map[string]error{
				"Create":       errOf3(v.jobs.Create(t.Context(), in)),
				"BeginAttempt": errOf2(v.jobs.BeginAttempt(t.Context(), job, vaultTry)),
				"Start":        startErr,
			} {
				require.ErrorIs(t, err, onejob.ErrInvalid, "%s %q", op, id)
				e := requireSilent(t, op, err)
				require.Equal(t, "Options.NewID", e.Field)
			}
			_, err := v.jobs.GetByKey(t.Context(), in.Owner, in.Key)
			require.ErrorIs(t, err, onejob.ErrNotFound, "nothing was written")
		}
		list, err := v.jobs.Attempts(t.Context(), job.Owner, job.ID)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
	})
}

// A generator that repeats itself must not hand one intent the job of another:
// that would be another user's result.
func TestARepeatedIDGivesNoOneAnothersJob(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, store onejob.Store) {
		const id = "0198c0de-0000-7000-8000-0123456789ab"
		v := newVault(t, store)
		v.use(onejob.Options{NewID: func() string { return id }})
		in, first, a := v.start()
		require.Equal(t, onejob.JobID(id), first.ID)

		for name, run := range map[string]func(in onejob.Intent) (onejob.Job, error){
			"Create": func(in onejob.Intent) (onejob.Job, error) {
				job, created, err := v.jobs.Create(t.Context(), in)
				require.False(t, created)
				return job, err
			},
			"Start": func(in onejob.Intent) (onejob.Job, error) {
				job, a, err := v.jobs.Start(t.Context(), in, vaultTry)
				require.Zero(t, a)
				return job, err
			},
			"CreateTx": func(in onejob.Intent) (job onejob.Job, err error) {
				err = v.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					job, _, err = v.jobs.CreateTx(ctx, tx, in)
					return err
				})
				return job, err
			},
			"Do": func(in onejob.Intent) (onejob.Job, error) {
				return v.jobs.Do(t.Context(), in, vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
					t.Error("a provider was called for another's job")
					return nil, nil
				})
			},
		} {
			other := v.intent()
			job, err := run(other)
			require.Error(t, err, name)
			requireSilent(t, name, err)
			require.Zero(t, job.ID, name)
			_, err = v.jobs.GetByKey(t.Context(), other.Owner, other.Key)
			require.ErrorIs(t, err, onejob.ErrNotFound, name)
		}
		again, _, err := v.jobs.Create(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID)

		// An attempt's ID that is repeated within its job ends like a repeated
		// call: told of the one that there is, never a second one.
		must(v, first, errOf2(v.jobs.Fail(t.Context(), a, onejob.NoEffect(secretCause))))
		_, err = v.jobs.BeginAttempt(t.Context(), first, vaultTry)
		require.ErrorIs(t, err, onejob.ErrAttemptEnded)
		requireSilent(t, "BeginAttempt", err)
		list, err := v.jobs.Attempts(t.Context(), in.Owner, first.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, dbtest.SQLite(t))
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
