package onejob_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

// Whoever comes second waits for the first one's result, but not for longer
// than a client will.
func ExampleJobs_Wait() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	job, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: time.Minute})

	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	seen, err := jobs.Wait(short, "user-7", job.ID)
	fmt.Println(seen.Status(), errors.Is(err, context.DeadlineExceeded))

	go jobs.Complete(ctx, attempt, []byte("charged"))
	done, err := jobs.Wait(ctx, "user-7", job.ID)
	fmt.Println(done.Status(), string(done.Result), err)
	// Output:
	// running true
	// completed charged <nil>
}
