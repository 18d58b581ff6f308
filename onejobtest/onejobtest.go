// Package onejobtest is for the tests of services that use onejob. [New] gives
// a test a database of its own in a few milliseconds, a clock that the test
// moves, and the faults that production has: lost replies and outages.
//
//	func TestADoubleClickChargesOnce(t *testing.T) {
//		t.Parallel()
//		env := onejobtest.New(t, nil)
//		shop := newShop(env.Jobs)
//		…
//	}
//
// When the test ends the rows are checked: one winner per job, at most one open
// attempt, and so on. If the test has failed, the stories of its jobs are
// logged.
package onejobtest

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // needs no C compiler

	"github.com/onejob-go/onejob"
)

// Env is what a test works with. It is safe for use by many goroutines.
type Env struct {
	// Jobs and Operator share the options given to New.
	Jobs     *onejob.Jobs
	Operator *onejob.Operator
	// Store is for services that make their own Jobs, and for a second
	// process: any Jobs over it sees this database, this clock (also where
	// Options.Now is set) and these faults. It has the abilities of
	// onejob.SQLiteStore.
	Store onejob.Store
	// DB is a pool on the same file, for the host's own tables. Faults do not
	// touch it.
	DB *sql.DB

	t     testing.TB
	door  *door
	begin time.Time
	own   *onejob.Operator // not through the door
}

// New opens a new and migrated SQLite database in a temporary directory of the
// test. Nil options mean the defaults: give it those of the service, OnComplete
// above all. Options.Now is not asked, see [Env.Advance].
//
// All of it is checked and closed when the test ends.
func New(t testing.TB, opts *onejob.Options) *Env {
	t.Helper()
	image, err := template()
	if err != nil {
		t.Fatalf("onejobtest: no database: %v", err)
	}
	path := filepath.Join(t.TempDir(), "onejob.db")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatalf("onejobtest: no database: %v", err)
	}
	store, err := onejob.OpenSQLite(context.Background(), path, nil)
	if err != nil {
		t.Fatalf("onejobtest: no database: %v", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err != nil {
		store.Close()
		t.Fatalf("onejobtest: no database: %v", err)
	}
	// The host's own code may compare with time.Now, so this clock begins there.
	begin := time.Now().UTC().Truncate(time.Second)
	d := newDoor(store, begin)
	e := &Env{
		Jobs: onejob.New(d, opts), Store: d, DB: db,
		t: t, door: d, begin: begin,
		own: onejob.NewOperator(onejob.New(store, &onejob.Options{Now: d.clock})),
	}
	e.Operator = onejob.NewOperator(e.Jobs)
	t.Cleanup(func() {
		e.check()
		db.Close()
		store.Close()
	})
	return e
}

// Now is the time on the store's clock.
func (e *Env) Now() time.Time { return e.door.clock() }

// Advance moves the store's clock, which otherwise stands still, and then makes
// durable what time has done, as a sweeper in production would: attempts past
// their deadline are unknown. No fault touches that.
//
// Call it outside of Jobs.Tx and OnComplete, whose transaction it would wait
// for. The contexts of calls keep to real time: a provider that is to time out
// returns context.DeadlineExceeded, or Try.Timeout is short.
func (e *Env) Advance(d time.Duration) {
	e.t.Helper()
	if d < 0 {
		e.t.Errorf("onejobtest: Advance(%v): time does not go back", d)
		return
	}
	e.door.advance(d)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	const page = 1000
	for {
		swept, err := e.own.Sweep(ctx, page)
		if err != nil {
			e.t.Errorf("onejobtest: Advance(%v): %v", d, err)
		}
		if len(swept) < page {
			return
		}
	}
}
