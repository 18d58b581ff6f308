// Package worker is a program that uses the library, ordered about by a test in
// another process. It is compiled with this library and with every release that
// is kept: it may use nothing that the oldest of them lacks.
package worker

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"strings"
	"sync"

	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
)

// Order is a line to the worker. Orders run side by side.
type Order struct {
	N                int // returned with the answer
	Do               string
	Intent           onejob.Intent
	Provider, Result string
	Job              onejob.JobID
	Attempt          onejob.AttemptID
	Limit            int
}

// Answer is the worker's line for an order.
type Answer struct {
	N           int
	Job         onejob.JobID
	Attempt     onejob.AttemptID
	ProviderKey string
	Status      onejob.Status
	Result      string
	Created     bool // by this order
	Calls       int  // of the provider, by this order
	Refused     string
	Text        string // of the error
}

// store is what the two of the library have in common.
type store interface {
	onejob.Store
	Migrate(ctx context.Context) error
	MigrateTo(ctx context.Context, version int) error
}

type worker struct {
	store store
	jobs  *onejob.Jobs
	op    *onejob.Operator
}

// Serve works on the database at address until in ends.
func Serve(in io.Reader, out io.Writer, address string) error {
	store, err := open(address)
	if err != nil {
		return err
	}
	jobs := onejob.New(store, nil)
	w := worker{store, jobs, onejob.NewOperator(jobs)}
	var mu sync.Mutex
	lines := json.NewEncoder(out)
	var running sync.WaitGroup
	defer running.Wait()
	for scan := bufio.NewScanner(in); scan.Scan(); {
		var o Order
		if err := json.Unmarshal(scan.Bytes(), &o); err != nil {
			return err
		}
		running.Go(func() {
			a := w.carryOut(o)
			mu.Lock()
			defer mu.Unlock()
			_ = lines.Encode(a)
		})
	}
	return nil
}

func open(address string) (store, error) {
	if !strings.HasPrefix(address, "postgres") {
		return onejob.OpenSQLite(context.Background(), address, nil)
	}
	db, err := sql.Open("postgres", address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	return onejob.NewPostgresStore(db, nil)
}

func (w worker) carryOut(o Order) Answer {
	a := Answer{N: o.N}
	do, ok := orders[o.Do]
	if !ok {
		a.Refused, a.Text = "unknown order", o.Do
		return a
	}
	job, err := do(w, context.Background(), o, &a)
	if job.ID != "" {
		a.Job, a.Status, a.Result = job.ID, job.Status(), string(job.Result)
	}
	if err != nil {
		a.Refused, a.Text = sentinel(err), err.Error()
	}
	return a
}
