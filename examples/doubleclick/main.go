// Doubleclick shows an HTTP service whose users click twice, and then click on
// "use the fallback" after a timeout.
//
//	go run ./examples/doubleclick                 # embedded SQLite, a temporary file
//	go run ./examples/doubleclick -n 50           # 50 clicks at once
//	go run ./examples/doubleclick -postgres DSN   # tables in schema onejob_doubleclick
//
// What to look at: shop.order in shop.go is all that a handler needs, one call
// of Jobs.Do, and answer below it turns each refusal into an HTTP status. In
// the output look for the rows of the provider: one per order, however many
// clicks there were; and in the last scene for the 409, which stands until
// somebody has decided.
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

func main() { timeline.Main(run) }

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("doubleclick", flag.ContinueOnError)
	flags.SetOutput(w)
	n := flags.Int("n", 2, "how many clicks at once")
	dsn := flags.String("postgres", "", "address of a PostgreSQL database; empty means embedded SQLite")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 2 || *n > 1000 {
		return errors.New("-n must be 2 to 1000")
	}
	store, name, closeStore, err := openStore(ctx, *dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()

	tl := timeline.New(w)
	jobs := onejob.New(store, nil)
	pay := &payments{tl: tl, calls: map[onejob.JobID][]string{}}
	srv, err := serve(&shop{jobs: jobs, pay: pay})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()

	fmt.Fprintf(w, "doubleclick: POST /orders over HTTP, jobs in %s\n", name)
	s := &story{ctx: ctx, tl: tl, url: srv.url, pay: pay, jobs: jobs, op: onejob.NewOperator(jobs)}
	for _, scene := range []func() error{
		func() error { return s.manyClicks(*n) },
		s.fallbackAfterTimeout,
	} {
		if err := scene(); err != nil {
			return errors.Join(tl.Err(), err)
		}
	}
	return tl.Err()
}

// story is what the scenes share.
type story struct {
	ctx  context.Context
	tl   *timeline.Timeline
	url  string
	pay  *payments
	jobs *onejob.Jobs
	op   *onejob.Operator
}

// manyClicks: n clients send one order with one key, at one instant.
func (s *story) manyClicks(n int) error {
	s.tl.Scene(fmt.Sprintf("%d clicks at once, one idempotency key", n))
	o := order{Key: rand.Text(), Body: `{"item": "poster", "cents": 4500}`}
	got, err := s.together(n, "click", o)
	if err != nil {
		return err
	}
	job := got[0].Job
	one := job != ""
	for _, a := range got {
		one = one && a.Job == job && (a.Code == 200 || a.Code == 202)
	}
	s.tl.Promise(one, "one job: each of the %d clicks was given job %s", n, timeline.Short(job))
	s.charged(job, "card")

	if got, err = s.together(n, "again", o); err != nil {
		return err
	}
	same := true
	for _, a := range got {
		same = same && a.Code == 200 && a.Job == job && a.Result == got[0].Result && a.Result != ""
	}
	s.tl.Promise(same, "one result: asked again, each got the receipt %s", got[0].Result)

	o.Body = `{"item": "poster", "cents": 9900}`
	a, err := s.click("typo", o)
	if err != nil {
		return err
	}
	s.tl.Promise(a.Code == 409, "one intent: the same key with another body is a conflict (HTTP %d)", a.Code)
	s.charged(job, "card")
	return nil
}

// fallbackAfterTimeout: the wallet hangs. Nobody knows whether it has charged,
// so the card must wait for knowledge, or for an operator's word.
func (s *story) fallbackAfterTimeout() error {
	s.tl.Scene("a timeout, and the click on \"use the fallback\"")
	o := order{Key: rand.Text(), Body: `{"item": "frame", "cents": 1200}`, Via: "wallet"}
	first, err := s.click("click", o)
	if err != nil {
		return err
	}
	s.tl.Promise(first.Code == 504 && first.Status == onejob.StatusUnknown,
		"a timeout is not a failure: the job is %s (HTTP %d)", first.Status, first.Code)

	o.Via = "card"
	blocked, err := s.click("fallback", o)
	if err != nil {
		return err
	}
	s.tl.Promise(blocked.Code == 409 && blocked.Status == onejob.StatusUnknown && blocked.Job == first.Job,
		"doubt blocks: the fallback was refused on the same job, which is %s (HTTP %d)", blocked.Status, blocked.Code)
	s.charged(first.Job, "wallet")

	job, err := s.jobs.Get(s.ctx, owner, first.Job)
	if err != nil {
		return err
	}
	if job.Attempt == nil {
		return errors.New("broken promise: doubt blocks: no attempt of the job is open")
	}
	ann := onejob.Decision{By: "ann", Reason: "the wallet's ledger shows no such charge"}
	if job, err = s.op.Refute(s.ctx, job.Attempt.ID, ann); err != nil {
		return err
	}
	s.tl.Row(ann.By, "refutes attempt 1: %q, the job is %s", ann.Reason, job.Status())

	done, err := s.click("fallback", o)
	if err != nil {
		return err
	}
	s.tl.Promise(done.Code == 200 && done.Status == onejob.StatusCompleted && done.Job == first.Job,
		"the fallback is a further attempt, not a further job: %s is %s", timeline.Short(done.Job), done.Status)
	s.charged(first.Job, "wallet", "card")
	return s.attempts(first.Job, ann)
}

// charged checks who was asked to charge for the job, in this order.
func (s *story) charged(job onejob.JobID, want ...string) {
	got := s.pay.of(job)
	s.tl.Promise(slices.Equal(got, want), "one execution per attempt: asked to charge: %s", strings.Join(got, ", then "))
}

func (s *story) attempts(id onejob.JobID, d onejob.Decision) error {
	list, err := s.jobs.Attempts(s.ctx, owner, id)
	if err != nil {
		return err
	}
	kept := len(list) == 2 && list[0].State == onejob.StateFailed && list[0].Decision == d &&
		list[1].State == onejob.StateSucceeded
	s.tl.Promise(kept, "the record tells the story:")
	for _, a := range list {
		s.tl.Note("attempt %d  %-6s  %-9s  decided by: %s", a.Number, a.Provider, a.State, cmp.Or(a.By, "nobody, it returned"))
	}
	return nil
}
