// Failover shows a primary that says nothing, and a fallback that may be asked
// only once the doubt has ended and only if it has proven that it keeps the
// same contract.
//
//	go run ./examples/failover              # an honest fallback
//	go run ./examples/failover -lie wraps   # one that lies: see chattest.Lies
//
// What to look at: the calls of the fallback, which stay at 0 while the primary
// is in doubt, and with -lie for ever; and the last rows of each scene, with the
// primary's late answer. All that a host writes is config in walk.go.
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
	"github.com/onejob-go/onejob/examples/internal/timeline"
	"github.com/onejob-go/onejob/examples/internal/walk"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func main() { timeline.Main(run) }

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	var lies []string
	for _, lie := range chattest.Lies() {
		lies = append(lies, lie.Name)
	}
	flags := flag.NewFlagSet("failover", flag.ContinueOnError)
	flags.SetOutput(w)
	lie := flags.String("lie", "", "how the fallback lies: "+strings.Join(lies, ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *lie != "" && !slices.Contains(lies, *lie) {
		return fmt.Errorf("-lie must be one of: %s", strings.Join(lies, ", "))
	}
	db, err := tempdb.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Remove()) }()
	s := &story{ctx: ctx, w: w, tl: timeline.New(w), lies: *lie != ""}
	if err := s.open(db, *lie); err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintln(w, "failover: add up an order with one of two language models, jobs in SQLite")
	for _, scene := range []func() error{s.qualify, s.canceled, s.reconciled} {
		if err := scene(); err != nil {
			return errors.Join(s.tl.Err(), err)
		}
	}
	return s.tl.Err()
}

// qualify lets the fallback prove itself.
func (s *story) qualify() error {
	s.tl.Scene("the fallback is tried with the contract's cases")
	report, err := walk.Qualify(s.ctx, s.op, s.contract, s.fallback)
	if err != nil {
		return err
	}
	fmt.Fprint(s.w, report)
	s.tl.Promise(report.Passed() != s.lies, "an honest provider qualifies, and one that lies does not")
	return nil
}

// canceled: the primary says nothing until an operator has decided.
func (s *story) canceled() error {
	s.tl.Scene("the primary says nothing, and an operator decides")
	s.primary.Hang()
	in := walk.Order("order-1042")
	job, err := s.runAndTell(in)
	if !s.tl.Promise(errors.Is(err, onejob.ErrInDoubt), "a timeout is a doubt, and blocks the job") {
		return err
	}
	_, err = s.runAndTell(in)
	s.tl.Promise(errors.Is(err, onejob.ErrInDoubt) && s.fallback.Calls() == 0,
		"run again, it asks the primary what became of it, and calls nobody: fallback calls %d", s.fallback.Calls())

	ann := onejob.Decision{By: "ann", Reason: "the provider is down, and adding up has no side effect"}
	if _, err = s.op.CancelAttempt(s.ctx, job.Attempt.ID, ann); err != nil {
		return err
	}
	s.tl.Row(ann.By, "cancels attempt 1: %q", ann.Reason)
	job, err = s.runAndTell(in)
	if s.lies {
		s.tl.Promise(errors.Is(err, onejob.ErrNotQualified) && s.fallback.Calls() == 0,
			"a liar is refused before a single live call: fallback calls %d", s.fallback.Calls())
		return walk.Story(s.ctx, s.tl, s.op, job.ID)
	}
	if !s.tl.Promise(err == nil && s.fallback.Calls() == 1, "the fallback has proven itself, and wins") {
		return err
	}
	result := string(job.Result)
	s.primary.Release()
	if err := s.runner.Wait(s.ctx); err != nil {
		return err
	}
	s.tl.Row("primary", "answers after all")
	job, err = s.jobs.Get(s.ctx, in.Owner, job.ID)
	if err != nil {
		return err
	}
	s.tl.Promise(string(job.Result) == result, "the late answer was dropped, the result stands")
	return walk.Story(s.ctx, s.tl, s.op, job.ID)
}

// reconciled: the primary has acted, and tells so when it is asked.
func (s *story) reconciled() error {
	s.tl.Scene("the primary acts and its answer is lost")
	s.primary.Die()
	before := s.fallback.Calls()
	job, err := s.runAndTell(walk.Order("order-1043"))
	if !s.tl.Promise(errors.Is(err, onejob.ErrInDoubt), "a lost answer is a doubt") {
		return err
	}
	pass, err := s.runner.Reconcile(s.ctx, reconcileAll)
	if err != nil {
		return err
	}
	s.tl.Row("loop", "asks about %d attempt, ends %d doubt", pass.Asked, pass.Ended)
	job, err = s.jobs.Get(s.ctx, job.Owner, job.ID)
	if err != nil {
		return err
	}
	s.tl.Promise(job.State == onejob.JobCompleted && job.Attempt.Provider == "primary" && s.fallback.Calls() == before,
		"what the primary did is the result, and the fallback is not called")
	return walk.Story(s.ctx, s.tl, s.op, job.ID)
}
