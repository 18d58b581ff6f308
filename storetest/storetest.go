// Package storetest is the conformance kit for stores: what every [onejob.Store]
// must do, shown through the public API. Both stores of the library pass it,
// and a third party proves its own with it:
//
//	func TestMyStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) onejob.Store { return newMyStore(t) })
//	}
//
// Each case has a name and an explanation that is printed when it fails. Order,
// where it matters, is made by barriers: no case sleeps.
package storetest

import (
	"slices"
	"testing"

	"github.com/onejob-go/onejob"
)

// Run runs all cases, each as a parallel subtest on a new and empty store from
// newStore, which registers its own clean-up. Cases that need an optional
// ability run where the store has it.
func Run(t *testing.T, newStore func(*testing.T) onejob.Store, opts ...Option) {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.child(t) {
		return
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runCase(t, c, newStore, o)
				})
			}
		})
	}
}

// Option is an option of Run.
type Option func(*options)

type options struct {
	address func(onejob.Store) string
	open    func(t *testing.T, address string) onejob.Store
}

// ability is something that not every store has.
type ability string

const (
	transactions ability = "transactions"     // onejob.TxStore
	operating    ability = "operator queries" // onejob.OperatorStore
	processes    ability = "processes"        // Run was given Processes
	qualifying   ability = "qualifications"   // onejob.QualificationStore
	turns        ability = "turns"            // onejob.TurnStore
	waiting      ability = "waiting"          // onejob.WaitStore
)

// testCase is one thing that must hold, and why.
type testCase struct {
	name  string
	why   string
	needs []ability
	run   func(h *harness)
}

type group struct {
	name  string
	cases []testCase
}

// groups are all cases; each file of the kit adds its own.
var groups []group

func register(name string, cases ...testCase) bool {
	for i := range groups {
		if groups[i].name == name { // a second subtest of one name would get a number
			groups[i].cases = append(groups[i].cases, cases...)
			return true
		}
	}
	groups = append(groups, group{name, cases})
	return true
}

func runCase(t *testing.T, c testCase, newStore func(*testing.T) onejob.Store, o options) {
	store := newStore(t)
	_, tx := store.(onejob.TxStore)
	_, op := store.(onejob.OperatorStore)
	_, keeps := store.(onejob.QualificationStore)
	_, gives := store.(onejob.TurnStore)
	_, waits := store.(onejob.WaitStore)
	has := map[ability]bool{
		transactions: tx, operating: op, processes: o.open != nil, qualifying: keeps, turns: gives, waiting: waits,
	}
	if slices.ContainsFunc(c.needs, func(a ability) bool { return !has[a] }) {
		return
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n\twhat must hold: %s", c.name, c.why)
		}
	})
	h := newHarness(t, store)
	h.options = o
	c.run(h)
}
