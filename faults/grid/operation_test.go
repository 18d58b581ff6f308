package grid

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// operation is one row of the grid.
type operation struct {
	name string
	// setup brings a job to where the operation is called, without faults.
	setup func(ctx context.Context, h *host) error
	// run is one call. What it learns of IDs it keeps in the world, so that
	// run again repeats the call with the same IDs.
	run func(ctx context.Context, h *host) error
	// answer is what the caller hears when it is done: nil, or the refusal.
	answer error
	// again are the other answers that settle a repeat.
	again []error
	// there reports whether the operation has taken effect.
	there func(w *world, v view) bool
	// What it adds to the versions of the jobs (a new job counts 1), to the
	// attempts and to the host's rows, done once.
	versions, attempts, rows int

	mints  int  // how many IDs a call mints
	steps  bool // more than one commit: those before may stand
	skip   int  // of its commits, those that go well
	hook   bool // the host has an OnComplete
	hostTx bool // in a transaction that the host commits itself
	global bool // works on all jobs there are
	// lockless is why it never waits for another session's lock.
	lockless string
	// fresh says that it waits for whoever creates its key, and not for the
	// job's row.
	fresh bool
}

// world is what the host of one run knows. It goes from process to process.
type world struct {
	Owner, Key string
	Job        onejob.Job
	Attempt    onejob.Attempt
	Try        onejob.AttemptID // repeats an earlier call
	Mint       []string         // the next IDs, of a process that will be killed
	Ledger     string           // the provider's file: a line for each call
	Timeout    time.Duration    // of a Do: for so long it tries to store the result
}

// What must be nowhere: in no error's text and no log line, and the loser's
// in no table either.
const (
	ownerMark, keyMark, paramsMark = "owner-canary", "key-canary", "params-canary"
	resultMark, loserMark          = "result-canary", "loser-canary"
)

func newWorld(dir, name string) *world {
	return &world{Owner: ownerMark + name, Key: keyMark + name, Ledger: dir + "/calls-" + name, Timeout: time.Minute}
}

// intent is the intent of the run; the suffix tells those apart that need two.
func (w *world) intent(suffix string) onejob.Intent {
	return onejob.Intent{Owner: w.Owner, Key: w.Key + suffix, Kind: "charge", Params: []byte(`{"note":"` + paramsMark + `"}`)}
}

func (w *world) try(timeout time.Duration) onejob.Try {
	return onejob.Try{ID: w.Try, Provider: "inkjet", Timeout: timeout}
}

// learn keeps the ID of the attempt whose fate an error leaves open.
func (w *world) learn(err error) {
	var e *onejob.Error
	if errors.As(err, &e) && e.Attempt != nil && (errors.Is(err, onejob.ErrUnavailable) || errors.Is(err, onejob.ErrInDoubt)) {
		w.Try = e.Attempt.ID
	}
}

// minted sets what a killed process minted, so that its successor can repeat.
func (w *world) minted(op *operation, mint []string) {
	switch op.mints {
	case 1:
		w.Try = onejob.AttemptID(string(w.Job.ID) + "-" + own(mint[0]))
	case 2:
		w.Try = onejob.AttemptID(mint[0] + "-" + own(mint[1]))
	}
}

func own(id string) string { return id[19:23] + id[24:] }

// provider is the one that acts: its ledger tells how often.
func (w *world) provider(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
	f, err := os.OpenFile(w.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = f.WriteString("called\n")
	return result, err
}

var result = []byte(`{"note":"` + resultMark + `"}`)

// host is a program that uses the library.
type host struct {
	jobs     *onejob.Jobs
	operator *onejob.Operator
	db       *sql.DB // its transactions begin here
	bind     func(query string) string
	w        *world
}

func newHost(store onejob.Store, db *sql.DB, bind func(string) string, op *operation, w *world, log *slog.Logger) *host {
	h := &host{db: db, bind: bind, w: w}
	o := &onejob.Options{Logger: log, NewID: func() string {
		if len(w.Mint) > 0 {
			id := w.Mint[0]
			w.Mint = w.Mint[1:]
			return id
		}
		return uuid7()
	}}
	if op.hook {
		o.OnComplete = func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
			_, err := tx.ExecContext(ctx, bind(insertRow), job.Key)
			return err
		}
	}
	h.jobs = onejob.New(store, o)
	h.operator = onejob.NewOperator(h.jobs)
	return h
}

// The host's own rows. The table has no unique key, so that a row too many
// shows.
const (
	createRows = `CREATE TABLE host (run text NOT NULL); CREATE INDEX host_run ON host (run)`
	insertRow  = `INSERT INTO host (run) VALUES (?1)`
	insertOnce = `INSERT INTO host (run) SELECT CAST(?1 AS text) WHERE NOT EXISTS (SELECT 1 FROM host WHERE run = ?1)`
)

// inTx runs fn in a transaction of the host's own.
func (h *host) inTx(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func uuid7() string {
	now, a, b := uint64(time.Now().UnixMilli()), rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", now>>16&0xffffffff, now&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

func operationNamed(name string) *operation {
	for _, op := range operations() {
		if op.name == name {
			return op
		}
	}
	panic("no operation is called " + name)
}

func operations() []*operation {
	var all []*operation
	for _, table := range [][]*operation{beginning, completing, settling, operating} {
		all = append(all, table...)
	}
	return all
}

// view is what stands in the database, as text.
type view struct {
	jobs, attempts []map[string]string
	rows, calls    int
}

func (v view) versions() (sum int) {
	for _, j := range v.jobs {
		var n int
		_, _ = fmt.Sscan(j["version"], &n)
		sum += n
	}
	return sum
}

// attempt returns the row of an attempt, or nil.
func (v view) attempt(id onejob.AttemptID) map[string]string {
	for _, a := range v.attempts {
		if a["job_id"]+"-"+a["id"] == string(id) {
			return a
		}
	}
	return nil
}

func (v view) job(suffix string) map[string]string {
	for _, j := range v.jobs {
		if strings.HasSuffix(j["key"], suffix) {
			return j
		}
	}
	return nil
}

func (v view) String() string {
	var b strings.Builder
	for _, j := range v.jobs {
		fmt.Fprintf(&b, "  job %q\n", j)
	}
	for _, a := range v.attempts {
		fmt.Fprintf(&b, "  attempt %q\n", a)
	}
	fmt.Fprintf(&b, "  rows of the host: %d, calls of the provider: %d\n", v.rows, v.calls)
	return b.String()
}
