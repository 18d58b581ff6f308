// Race shows two qualified providers that run at once, on purpose: the first has
// said nothing for a while, so the second is asked beside it, and the first to
// answer wins.
//
//	go run ./examples/race
//
// What to look at: Patience in config, which is the whole difference to the
// failover example; the attempt that was detached, with the runner's name and
// reason; and whose result is late. In the second scene the one that was let
// run wins all the same.
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
	"github.com/onejob-go/onejob/examples/internal/timeline"
	"github.com/onejob-go/onejob/examples/internal/walk"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func main() { timeline.Main(run) }

func run(ctx context.Context, w io.Writer, _ []string) (err error) {
	db, err := tempdb.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Remove()) }()
	jobs := onejob.New(db, nil)
	r := &race{ctx: ctx, tl: timeline.New(w), jobs: jobs, op: onejob.NewOperator(jobs)}
	if err := r.open(); err != nil {
		return err
	}
	defer r.close()
	fmt.Fprintln(w, "race: the first of two that answers wins, jobs in SQLite")
	for _, scene := range []func() error{r.secondWins, r.firstWins} {
		if err := scene(); err != nil {
			return errors.Join(r.tl.Err(), err)
		}
	}
	return r.tl.Err()
}

// race is what the scenes share.
type race struct {
	ctx         context.Context
	tl          *timeline.Timeline
	jobs        *onejob.Jobs
	op          *onejob.Operator
	runner      *failover.Runner
	fast, quick walk.Target
}

func (r *race) open() error {
	c, err := chattest.Contract()
	if err != nil {
		return err
	}
	if r.fast, err = walk.Serve("fast", ""); err != nil {
		return err
	}
	if r.quick, err = walk.Serve("quick", ""); err != nil {
		return err
	}
	for _, t := range []walk.Target{r.fast, r.quick} {
		if _, err := walk.Qualify(r.ctx, r.op, c, t); err != nil {
			return err
		}
	}
	r.runner, err = failover.New(r.jobs, config(c, r.fast.Provider, r.quick.Provider))
	return err
}

func (r *race) close() {
	r.fast.Release()
	r.quick.Release()
	_ = r.runner.Wait(r.ctx) // its error is that the example was told to end
	r.fast.Close()
	r.quick.Close()
}

// secondWins: the first to be asked is the last to answer.
func (r *race) secondWins() error {
	r.tl.Scene("fast is not: quick is asked beside it, and wins")
	r.fast.Hang()
	job, err := r.runAndTell("order-1")
	if !r.tl.Promise(err == nil && job.Attempt.Provider == "quick", "the first to answer wins") {
		return err
	}
	result := string(job.Result)
	r.fast.Release()
	if err := r.runner.Wait(r.ctx); err != nil {
		return err
	}
	r.tl.Row("fast", "answers")
	job, err = r.jobs.Get(r.ctx, job.Owner, job.ID)
	if err != nil {
		return err
	}
	r.tl.Promise(string(job.Result) == result, "the second to answer loses, its result is thrown away whole")
	return walk.Story(r.ctx, r.tl, r.op, job.ID)
}

// firstWins: being detached is no defeat.
func (r *race) firstWins() error {
	r.tl.Scene("quick is asked beside fast, and fast wins all the same")
	r.fast.Wait(patience + 100*time.Millisecond)
	r.quick.Hang()
	job, err := r.runAndTell("order-2")
	if !r.tl.Promise(err == nil && job.Attempt.Provider == "fast", "what was let run may still win") {
		return err
	}
	r.quick.Release()
	if err := r.runner.Wait(r.ctx); err != nil {
		return err
	}
	return walk.Story(r.ctx, r.tl, r.op, job.ID)
}

func (r *race) runAndTell(key string) (onejob.Job, error) {
	r.tl.Row("host", "runs %s", key)
	job, err := r.runner.Run(r.ctx, walk.Order(key))
	if err == nil {
		r.tl.Row("host", "%s by %s: %s", job.Status(), job.Attempt.Provider, job.Result)
	}
	return job, err
}
