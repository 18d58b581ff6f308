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
	"strings"
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

// vault is a store full of secrets.
type vault struct {
	*testing.T
	store onejob.Store
	jobs  *onejob.Jobs
	op    *onejob.Operator
	log   dbtest.Log
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
	errSecret    = errors.New(canary + "-cause")
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
		must(v, 0, errOf2(v.jobs.Fail(v.Context(), a, errSecret)))
		_, _, err := v.jobs.Start(v.Context(), in, vaultTry)
		return err
	}},
	{"a call that failed without proof", onejob.ErrInDoubt, func(v *vault) error {
		return errOf2(v.jobs.Do(v.Context(), v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return secretResult, fmt.Errorf("provider: %w", errSecret)
		}))
	}},
	{"a call that failed with proof", onejob.ErrFailed, func(v *vault) error {
		return errOf2(v.jobs.Do(v.Context(), v.intent(), vaultTry, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return secretResult, onejob.NoEffect(errSecret)
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
		must(v, job, errOf2(v.jobs.Fail(v.Context(), a, onejob.NoEffect(errSecret))))
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
		return errOf2(v.jobs.Fail(v.Context(), a, errSecret))
	}},
	{"an attempt that an operator cannot confirm", onejob.ErrCompleted, func(v *vault) error {
		_, job, a := v.start()
		must(v, job, errOf2(v.op.DetachAttempt(v.Context(), a.ID, vaultWord)))
		other := must2(v)(v.jobs.BeginAttempt(v.Context(), job, vaultTry))
		must(v, job, errOf2(v.jobs.Complete(v.Context(), other, secretResult)))
		return errOf2(v.op.Confirm(v.Context(), a.ID, []byte(canary+"-loser"), vaultWord))
	}},
	{"a qualification", onejob.ErrNotQualified, func(v *vault) error {
		try := vaultTry
		try.Require = &onejob.Requirement{Contract: canary, Model: canary, Fingerprint: canary}
		_, _, err := v.jobs.Start(v.Context(), v.intent(), try)
		return err
	}},
	{"a qualification that nobody keeps", onejob.ErrUnsupported, func(v *vault) error {
		v.store = struct{ onejob.Store }{v.store}
		v.use(onejob.Options{})
		try := vaultTry
		try.Require = &onejob.Requirement{Contract: canary, Model: canary, Fingerprint: canary}
		_, _, err := v.jobs.Start(v.Context(), v.intent(), try)
		return err
	}},
	{"a context that has ended", onejob.ErrUnavailable, func(v *vault) error {
		ctx, cancel := context.WithCancelCause(v.Context())
		cancel(errSecret)
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
		// ErrRetryTx is brought about below.
		for _, sentinel := range []error{
			onejob.ErrInvalid, onejob.ErrNotFound, onejob.ErrKeyConflict, onejob.ErrKeyRetired, onejob.ErrAttemptOpen,
			onejob.ErrInDoubt, onejob.ErrFailed, onejob.ErrCompleted, onejob.ErrJobCanceled, onejob.ErrTooManyAttempts,
			onejob.ErrNotQualified, onejob.ErrLateResult, onejob.ErrResultMismatch, onejob.ErrAttemptEnded, onejob.ErrUnsupported, onejob.ErrUnavailable,
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
