package onejob_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

// counter counts refusals by reason; see package otelonejob for one that does all.
type counter map[string]int

func (c counter) Observe(ctx context.Context, op string) (context.Context, func(onejob.Observation)) {
	return ctx, func(o onejob.Observation) {
		switch {
		case errors.Is(o.Err, onejob.ErrInDoubt):
			c[op+": in doubt"]++
		case errors.Is(o.Err, onejob.ErrAttemptOpen):
			c[op+": open"]++
		case o.Created:
			c[op+": new job"]++
		}
	}
}

func ExampleObserver() {
	ctx := context.Background()
	seen := counter{}
	jobs, closeJobs := openJobs(&onejob.Options{Observer: seen})
	defer closeJobs()

	in := onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "charge"}
	job, _, _ := jobs.Create(ctx, in)
	_, _, _ = jobs.Create(ctx, in) // the double click
	try := onejob.Try{Provider: "acme-pay", Timeout: time.Minute}
	a, _ := jobs.BeginAttempt(ctx, job, try)
	_, _ = jobs.BeginAttempt(ctx, job, try)
	_, _ = jobs.MarkUnknown(ctx, a, context.DeadlineExceeded)
	_, _ = jobs.BeginAttempt(ctx, job, try)
	fmt.Println(seen)
	// Output:
	// map[BeginAttempt: in doubt:1 BeginAttempt: open:1 Create: new job:1]
}
