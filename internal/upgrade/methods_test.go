package upgrade_test

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// method is one of a Jobs or an Operator, with arguments that it takes for good.
type method struct {
	name     string
	inHostTx bool // it takes part in a transaction that the host began
	call     func() error
}

// methods are all there are, so that none that comes later is forgotten.
func methods(t *testing.T, store onejob.Store, p place) []method {
	t.Helper()
	jobs := onejob.New(store, nil)
	args := arguments(t)
	var list []method
	for _, on := range []any{jobs, onejob.NewOperator(jobs)} {
		v := reflect.ValueOf(on)
		for i := range v.NumMethod() {
			m := method{name: v.Type().String() + "." + v.Type().Method(i).Name}
			fn := v.Method(i)
			for j := range fn.Type().NumIn() {
				m.inHostTx = m.inHostTx || fn.Type().In(j) == reflect.TypeFor[onejob.Tx]()
			}
			m.call = func() error {
				if m.inHostTx {
					return inHostTx(t, p, args, fn)
				}
				return callWith(t, m.name, fn, args)
			}
			list = append(list, m)
		}
	}
	return list
}

// arguments has a value for each type that a method takes.
func arguments(t *testing.T) map[reflect.Type]reflect.Value {
	t.Helper()
	elsewhere, err := onejob.OpenSQLite(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	defer elsewhere.Close()
	require.NoError(t, elsewhere.Migrate(t.Context()))
	try := onejob.Try{Provider: "primary", Timeout: time.Hour}
	job, attempt, err := onejob.New(elsewhere, nil).Start(t.Context(), intent("elsewhere"), try)
	require.NoError(t, err)
	claim := onejob.Requirement{Contract: "receipt", Model: "m-1", Fingerprint: "f-1"}
	args := map[reflect.Type]reflect.Value{}
	for _, v := range []any{
		job, attempt, job.ID, attempt.ID, try, intent("key-1"), []onejob.Intent{intent("key-2"), intent("key-3")},
		"owner-1", 1, time.Hour, []byte("result"), claim,
		onejob.Qualification{Requirement: claim, Provider: "primary", Runs: 1, Passes: 1},
		onejob.Decision{By: "a test", Reason: "to see"}, onejob.Retention{Payloads: time.Hour}, onejob.Filter{},
		func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "SELECT 1"); return err },
		onejob.Call(func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) { return []byte("result"), nil }),
	} {
		args[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	args[reflect.TypeFor[context.Context]()] = reflect.ValueOf(t.Context())
	args[reflect.TypeFor[error]()] = reflect.ValueOf(errors.New("of a call"))
	return args
}

// callWith calls the method and returns its error, or the first that its list
// yields.
func callWith(t *testing.T, name string, fn reflect.Value, args map[reflect.Type]reflect.Value) error {
	t.Helper()
	var in []reflect.Value
	for i := range fn.Type().NumIn() {
		arg, ok := args[fn.Type().In(i)]
		if typ := fn.Type().In(i); !ok && typ.Kind() == reflect.Pointer {
			arg, ok = reflect.Zero(typ), true // options
		}
		require.True(t, ok, "%s: give arguments() a value for %s", name, fn.Type().In(i))
		in = append(in, arg)
	}
	out := fn.Call(in)
	require.NotEmpty(t, out, "%s returns nothing: say in methods() how it refuses", name)
	last := out[len(out)-1]
	if last.Type().CanSeq2() && last.Kind() == reflect.Func {
		for _, err := range last.Seq2() {
			last = err
			break
		}
		if last.Kind() == reflect.Func {
			return nil // an empty list
		}
	}
	err, _ := last.Interface().(error)
	return err
}

// inHostTx calls the method in a transaction of the host's, which must still be
// of use after a refusal.
func inHostTx(t *testing.T, p place, args map[reflect.Type]reflect.Value, fn reflect.Value) error {
	t.Helper()
	tx, err := p.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	own := map[reflect.Type]reflect.Value{reflect.TypeFor[onejob.Tx](): reflect.ValueOf(tx)}
	for typ, v := range args {
		own[typ] = v
	}
	err = callWith(t, "in a transaction", fn, own)
	if errors.Is(err, onejob.ErrUnsupported) {
		_, broken := tx.ExecContext(t.Context(), "SELECT 1")
		require.NoError(t, broken, "a refusal made the transaction unusable")
	}
	return err
}
