package upgrade_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// spellings are inputs that are the same, each in two spellings where it has two.
var spellings = []struct{ a, b onejob.Intent }{
	{params(`{"amount":1200,"to":"ada"}`), params(` { "to" : "ada", "amount" : 1200 } `)},
	{params(`{"n":1e2,"m":-0,"f":0.10}`), params(`{"f":0.10, "m":-0, "n":1e2}`)},
	{params(`{"s":"\u00e9\u0041\/","e":""}`), params(`{"e":"","s":"éA/"}`)},
	{params(`{"a":[1,2,{"c":null,"b":true}]}`), params(`{"a":[1,2,{"b":true,"c":null}]}`)},
	{params(`{"😀":1,"ﬀ":2,"z":3}`), params(`{"z":3,"ﬀ":2,"😀":1}`)},
	{params(`12345678901234567890`), params(` 12345678901234567890`)},
	{params(``), params(``)},
	{params(`null`), params("null\n")},
	{onejob.Intent{Target: "acme", Params: []byte(`{}`)}, onejob.Intent{Target: "acme", Params: []byte(` {} `)}},
	{onejob.Intent{Opaque: true, Params: []byte("{ } \x00\xff")}, onejob.Intent{Opaque: true, Params: []byte("{ } \x00\xff")}},
	{onejob.Intent{Scope: []string{"POST", "/orders", ""}}, onejob.Intent{Scope: []string{"POST", "/orders", ""}}},
}

func params(p string) onejob.Intent { return onejob.Intent{Params: []byte(p)} }

func under(in onejob.Intent, key string) worker.Order {
	in.Owner, in.Key, in.Kind = "owner-1", key, "charge"
	return worker.Order{Intent: in, Provider: "primary", Result: "result"}
}

// A retry may reach the other program. If the two took the input for different
// ones it would be a conflict; if they took different ones for the same, somebody
// would get another's answer.
func TestBothProgramsTakeTheSameInputForTheSame(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for name, p := range m.programs() {
			for i, in := range spellings {
				key := fmt.Sprint(name, i)
				job := p[0].does("create", under(in.a, key))
				again := p[1].does("create", under(in.b, key))
				require.Equal(t, job.Job, again.Job, key)
				require.False(t, again.Created)
				done := p[1].does("do", under(in.b, key))
				require.Equal(t, 1, done.Calls)
				repeated := p[0].does("do", under(in.a, key))
				require.Equal(t, done.Result, repeated.Result)
				require.Zero(t, repeated.Calls)

				other := spellings[(i+1)%len(spellings)]
				a := p[1].ask("create", under(other.b, key))
				require.Equal(t, onejob.ErrKeyConflict.Error(), a.Refused, key)
			}
		}
	})
}

// The provider's own duplicate check rests on it.
func TestBothProgramsDeriveTheSameProviderKey(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for name, p := range m.programs() {
			in := intent(name)
			m.old.does("create", worker.Order{Intent: in})
			for failed := range 4 {
				a := p[failed%2].does("begin", worker.Order{Intent: in, Provider: "primary"})
				// This process is a new program, so to speak.
				want := onejob.BeginParams{ID: a.Attempt, Provider: "primary"}.ProviderKey(failed)
				require.Equal(t, want, a.ProviderKey)
				p[1-failed%2].does("fail", worker.Order{Attempt: a.Attempt})
			}
		}
	})
}
