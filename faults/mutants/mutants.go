// Package mutants lists wrong versions of the library, each with the smallest
// suite that must fail for it. A test that no wrong code can break shows
// nothing: this is how the tests are tested. Command mutants runs them.
package mutants

import (
	"regexp"
	"slices"
	"strings"
)

// Mutant is one thing done wrong, in each place where it can be.
type Mutant struct {
	ID     string
	What   string // what was done wrong, in one sentence
	Plants []Plant
	// Equivalent says why no test can tell the plants of this mutant from the
	// library. They are applied and compiled, and no suite is run.
	Equivalent string
	// Later says why there is nothing to plant yet.
	Later string
}

// Edits are those of all plants. What two plants share stands once.
func (m Mutant) Edits() []Edit {
	var edits []Edit
	for _, p := range m.Plants {
		for _, e := range p.Edits {
			if !slices.Contains(edits, e) {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// Plant is a mutant's edits of one store, or of what the stores share.
type Plant struct {
	Where string // PostgreSQL, SQLite, or the store on which shared code is tried
	Edits []Edit
	// Suite is what must fail: a regexp for go test -run, in the root package.
	Suite string
	// Count is how often the suite is run until it fails, where a race decides.
	Count int
}

// Edit replaces a text that stands in the file exactly once.
type Edit struct{ File, Old, New string }

// All are the mutants, in the order of the table.
func All() []Mutant {
	return slices.Concat(swap, keys, attempts, settling, deadlines, operating, transactions, batches, qualifying, leaks, driving, turns, waiting)
}

// Stores, as they are named in the table and in the names of subtests.
const (
	Postgres = "PostgreSQL"
	SQLite   = "SQLite"
)

var subtests = map[string]string{Postgres: "postgres", SQLite: "sqlite"}

// kit is the suite of one case of the conformance kit.
func kit(group, name string) string { return test("TestStoresConform", "{store}", group, name) }

// test is the suite of one test or subtest.
func test(names ...string) string {
	for i, name := range names {
		if name == "{store}" {
			continue
		}
		names[i] = "^" + regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_")) + "$"
	}
	return strings.Join(names, "/")
}

func plant(where, suite string, edits []Edit) Plant {
	suite = strings.ReplaceAll(suite, "{store}", "^"+subtests[where]+"$")
	return Plant{Where: where, Edits: edits, Suite: suite, Count: 1}
}

func pg(suite string, edits ...Edit) Plant   { return plant(Postgres, suite, edits) }
func lite(suite string, edits ...Edit) Plant { return plant(SQLite, suite, edits) }

// often runs the suite up to n times: a race decides whether it fails.
func (p Plant) often(n int) Plant {
	p.Count = n
	return p
}

// The files that are edited most.
const (
	pgFile         = "store_postgres.go"
	pgOperator     = "store_postgres_operator.go"
	sqliteFile     = "store_sqlite.go"
	sqliteOperator = "store_sqlite_operator.go"
	pgSchema       = "schema/postgres/0001_jobs.sql"
	sqliteSchema   = "schema/sqlite/0001_jobs.sql"
)

func inPg(old, new string) Edit     { return Edit{pgFile, old, new} }
func inSQLite(old, new string) Edit { return Edit{sqliteFile, old, new} }
