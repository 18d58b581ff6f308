package onejobtest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

// In a test, t is the *testing.T and nothing has to be ended. The examples here
// are no tests and bring their own.
func Example() {
	t := &fakeT{}
	defer t.end()
	ctx := context.Background()

	env := onejobtest.New(t, nil)
	job, first, _ := env.Jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second})

	env.Advance(time.Minute) // acme-pay does not answer
	_, err := env.Jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "fallback", Timeout: 10 * time.Second})
	fmt.Println("blocked:", errors.Is(err, onejob.ErrInDoubt))

	_, _ = env.Operator.Refute(ctx, first.ID, onejob.Decision{By: "ada", Reason: "it is not in their books"})
	fmt.Print(env.Timeline(job.ID))
	// Output:
	// blocked: true
	//       0s  job created: charge
	//       0s  attempt 1 began: acme-pay, deadline at 10s
	//      10s  attempt 1 unknown: its deadline passed
	//     1m0s  attempt 1 failed: an operator's word
	//     1m0s  now: pending
}

func ExampleEnv_CutReply() {
	t := &fakeT{}
	defer t.end()
	ctx := context.Background()

	env := onejobtest.New(t, nil)
	_, attempt, _ := env.Jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second})

	env.CutReply()
	job, err := env.Jobs.Complete(ctx, attempt, []byte(`{"charge":"ch_1"}`))
	fmt.Println(job.Status(), err) // the library has read back what became of it
	// Output:
	// completed <nil>
}

func ExampleEnv_CutReplyThenDown() {
	t := &fakeT{}
	defer t.end()
	ctx := context.Background()

	env := onejobtest.New(t, nil)
	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"}
	try := onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second}

	env.CutReplyThenDown()
	_, _, err := env.Jobs.Start(ctx, in, try)
	fmt.Println("unavailable:", errors.Is(err, onejob.ErrUnavailable))

	env.Up()
	var refusal *onejob.Error
	errors.As(err, &refusal)
	try.ID = refusal.Attempt.ID
	_, attempt, err := env.Jobs.Start(ctx, in, try)
	fmt.Println("attempt", attempt.Number, attempt.State, err)
	// Output:
	// unavailable: true
	// attempt 1 started <nil>
}

func ExampleEnv_Down() {
	t := &fakeT{}
	defer t.end()
	ctx := context.Background()

	env := onejobtest.New(t, nil)
	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"}

	env.Down()
	_, _, err := env.Jobs.Create(ctx, in)
	fmt.Println("unavailable:", errors.Is(err, onejob.ErrUnavailable))

	env.Up()
	_, created, err := env.Jobs.Create(ctx, in)
	fmt.Println("created:", created, err)
	// Output:
	// unavailable: true
	// created: true <nil>
}

func ExampleEnv_Advance() {
	t := &fakeT{}
	defer t.end()
	ctx := context.Background()

	env := onejobtest.New(t, nil)
	job, _, _ := env.Jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second})
	for range 2 {
		env.Advance(5 * time.Second)
		job, _ = env.Jobs.Get(ctx, "user-7", job.ID)
		fmt.Println(job.Status())
	}
	// Output:
	// running
	// unknown
}
