package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/onejob-go/onejob"
)

// openJobs opens a database in memory: enough for an example.
func openJobs(opts *onejob.Options) (*onejob.Jobs, func()) {
	ctx := context.Background()
	store, err := onejob.OpenSQLite(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	return onejob.New(store, opts), func() { store.Close() }
}

// The whole way in one call: whoever repeats it gets the same job, and the
// provider is called once.
func Example() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	charge := func(ctx context.Context, job onejob.Job, attempt onejob.Attempt) ([]byte, error) {
		fmt.Println("charging the card")
		return []byte(`{"charge":"ch_1"}`), nil
	}
	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge", Params: []byte(`{"amount":1200}`)}
	for range 2 { // a double click
		job, err := jobs.Do(ctx, in, onejob.Try{Provider: "acme-pay", Timeout: 10 * time.Second}, charge)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(job.Status(), string(job.Result))
	}
	// Output:
	// charging the card
	// completed {"charge":"ch_1"}
	// completed {"charge":"ch_1"}
}

func ExampleJobs_Create() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge", Params: []byte(`{"amount":1200,"currency":"EUR"}`)}
	first, created, _ := jobs.Create(ctx, in)
	fmt.Println("created:", created)

	in.Params = []byte(`{ "currency": "EUR", "amount": 1200 }`) // means the same
	second, created, _ := jobs.Create(ctx, in)
	fmt.Println("created:", created, "same job:", first.ID == second.ID)

	in.Params = []byte(`{"amount":9900,"currency":"EUR"}`) // means something else
	_, _, err := jobs.Create(ctx, in)
	fmt.Println("conflict:", errors.Is(err, onejob.ErrKeyConflict))
	// Output:
	// created: true
	// created: false same job: true
	// conflict: true
}

func ExampleJobs_CreateMany() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	// A batch of payouts that is sent again, with one amount changed and one new.
	payout := func(key, amount string) onejob.Intent {
		return onejob.Intent{Owner: "payroll", Key: key, Kind: "payout", Params: []byte(`{"amount":` + amount + `}`)}
	}
	for _, batch := range [][]onejob.Intent{
		{payout("march-7", "900"), payout("march-8", "1200")},
		{payout("march-7", "900"), payout("march-8", "1300"), payout("march-9", "700")},
	} {
		list, err := jobs.CreateMany(ctx, batch)
		if err != nil {
			log.Fatal(err) // nothing is known: repeat the call
		}
		for i, c := range list {
			fmt.Println(batch[i].Key, c.Created, errors.Is(c.Err, onejob.ErrKeyConflict))
		}
	}
	// Output:
	// march-7 true false
	// march-8 true false
	// march-7 false false
	// march-8 false true
	// march-9 true false
}

func ExampleJobs_BeginAttempt() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	job, _, _ := jobs.Create(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"})
	first, _ := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "acme-pay", Timeout: time.Minute})
	fmt.Println(first.Number, first.State)

	// The fallback is refused while the first may still take effect.
	_, err := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "other-pay", Timeout: time.Minute})
	var refused *onejob.Error
	if errors.Is(err, onejob.ErrAttemptOpen) && errors.As(err, &refused) {
		fmt.Println("in the way:", refused.Attempt.Provider, refused.Attempt.State)
	}
	// Output:
	// 1 started
	// in the way: acme-pay started
}

func ExampleJobs_Complete() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	operator := onejob.NewOperator(jobs)

	job, primary, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "primary", Timeout: time.Minute})
	_, _ = operator.DetachAttempt(ctx, primary.ID, onejob.Decision{By: "ada", Reason: "silent for a minute"})
	fallback, _ := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "fallback", Timeout: time.Minute})

	job, _ = jobs.Complete(ctx, fallback, []byte("from the fallback"))
	fmt.Println(job.Status(), job.Attempt.Provider)

	// The primary left first and returns last: it loses.
	job, err := jobs.Complete(ctx, primary, []byte("from the primary"))
	fmt.Println("late:", errors.Is(err, onejob.ErrLateResult), string(job.Result))
	// Output:
	// completed fallback
	// late: true from the fallback
}

func ExampleJobs_Start() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"}
	try := onejob.Try{Provider: "acme-pay", Timeout: time.Minute}
	job, attempt, _ := jobs.Start(ctx, in, try)
	fmt.Println(job.Status(), attempt.Number)

	again, _, err := jobs.Start(ctx, in, try) // a second click
	fmt.Println(errors.Is(err, onejob.ErrAttemptOpen), again.ID == job.ID)
	// Output:
	// running 1
	// true true
}

func ExampleJobs_Fail() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	try := onejob.Try{Provider: "acme-pay", Timeout: time.Minute}

	_, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "charge"}, try)
	job, _ := jobs.Fail(ctx, attempt, context.DeadlineExceeded)
	fmt.Println("after a timeout:", job.Status())

	_, attempt, _ = jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-2", Kind: "charge"}, try)
	job, _ = jobs.Fail(ctx, attempt, onejob.NoEffect(errors.New("429 too many requests")))
	fmt.Println("with proof of no effect:", job.Status())
	// Output:
	// after a timeout: unknown
	// with proof of no effect: pending
}

func ExampleJobs_Do() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"}
	silent := func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		return nil, errors.New("connection reset by peer")
	}
	job, err := jobs.Do(ctx, in, onejob.Try{Provider: "primary", Timeout: time.Minute}, silent)
	fmt.Println(job.Status(), errors.Is(err, onejob.ErrInDoubt))

	// The fallback stays blocked until somebody knows or decides.
	job, err = jobs.Do(ctx, in, onejob.Try{Provider: "fallback", Timeout: time.Minute}, silent)
	fmt.Println(job.Status(), errors.Is(err, onejob.ErrAttemptOpen))
	// Output:
	// unknown true
	// unknown true
}

func ExampleJobs_Extend() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	_, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "film-1", Kind: "render"},
		onejob.Try{Provider: "farm", Timeout: time.Minute})
	longer, err := jobs.Extend(ctx, attempt, time.Hour)
	fmt.Println(longer.Deadline.After(attempt.Deadline), longer.Timeout, err)
	// Output:
	// true 1h0m0s <nil>
}

func ExampleJobs_SetExternalRef() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	_, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: time.Minute})
	attempt, _ = jobs.SetExternalRef(ctx, attempt, "ch_77")

	// A webhook that carries the attempt's ID finds all of it again.
	job, attempt, _ := jobs.GetAttempt(ctx, attempt.ID)
	fmt.Println(job.Kind, attempt.ExternalRef)
	// Output:
	// charge ch_77
}

func ExampleJobs_Attempts() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	in := onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"}
	job, first, _ := jobs.Start(ctx, in, onejob.Try{Provider: "primary", Timeout: time.Minute})
	_, _ = jobs.Fail(ctx, first, onejob.NoEffect(errors.New("refused")))
	_, _ = jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "fallback", Timeout: time.Minute})

	attempts, _ := jobs.Attempts(ctx, job.Owner, job.ID)
	for _, a := range attempts {
		fmt.Println(a.Number, a.Provider, a.State)
	}
	// Output:
	// 1 primary failed
	// 2 fallback started
}

func ExampleJobs_Tx() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	// The order and its job are there together, or not at all.
	err := jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY)"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ('1042')"); err != nil {
			return err
		}
		_, _, err := jobs.CreateTx(ctx, tx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"})
		return err
	})
	fmt.Println(err)
	job, err := jobs.GetByKey(ctx, "user-7", "order-1042")
	fmt.Println(job.Status(), err)
	// Output:
	// <nil>
	// pending <nil>
}

// The host's own rows, in the commit that completes the job, whoever does it.
func ExampleOptions_onComplete() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(&onejob.Options{
		OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
			fmt.Println("booking", string(job.Result))
			_, err := tx.ExecContext(ctx, "CREATE TABLE ledger (line TEXT)")
			return err
		},
	})
	defer closeJobs()

	_, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1042", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: time.Minute})
	for range 2 {
		job, err := jobs.Complete(ctx, attempt, []byte("12.00 EUR"))
		fmt.Println(job.Status(), err)
	}
	// Output:
	// booking 12.00 EUR
	// completed <nil>
	// completed <nil>
}
