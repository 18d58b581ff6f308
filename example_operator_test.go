package onejob_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

// doubtful starts a job whose provider went silent.
func doubtful(jobs *onejob.Jobs, key string) onejob.Attempt {
	ctx := context.Background()
	_, attempt, _ := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: key, Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: time.Minute})
	_, _ = jobs.MarkUnknown(ctx, attempt, errors.New("timeout"))
	return attempt
}

func ExampleOperator_Confirm() {
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	attempt := doubtful(jobs, "order-1042")

	job, err := onejob.NewOperator(jobs).Confirm(context.Background(), attempt.ID, []byte(`{"charge":"ch_1"}`),
		onejob.Decision{By: "ada", Reason: "the provider's dashboard shows the charge"})
	fmt.Println(job.Status(), job.Attempt.By, err)
	// Output:
	// completed ada <nil>
}

func ExampleOperator_Refute() {
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	attempt := doubtful(jobs, "order-1042")

	job, err := onejob.NewOperator(jobs).Refute(context.Background(), attempt.ID,
		onejob.Decision{By: "ada", Reason: "the provider never heard of it"})
	fmt.Println(job.Status(), err)
	// Output:
	// pending <nil>
}

func ExampleOperator_SaveQualification() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	operator := onejob.NewOperator(jobs)
	need := onejob.Requirement{Contract: "summary/3", Model: "large-2", Fingerprint: "5f2c"}
	try := onejob.Try{Provider: "acme", Timeout: time.Minute, Require: &need}
	in := onejob.Intent{Owner: "user-7", Key: "report-1042", Kind: "summarize"}

	var refusal *onejob.Error
	job, _, err := jobs.Start(ctx, in, try)
	fmt.Println(errors.As(err, &refusal), refusal.Reason, job.Status())

	_, _ = operator.SaveQualification(ctx, onejob.Qualification{
		Provider: "acme", Requirement: need, Runs: 30, Passes: 30, Evidence: []byte("the report"),
	}, 24*time.Hour)
	attempt, err := jobs.BeginAttempt(ctx, job, try)
	fmt.Println(attempt.State, err)
	// Output:
	// true missing pending
	// started <nil>
}

func ExampleOperator_RevokeQualification() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	operator := onejob.NewOperator(jobs)
	need := onejob.Requirement{Contract: "summary/3", Model: "large-2", Fingerprint: "5f2c"}
	_, _ = operator.SaveQualification(ctx, onejob.Qualification{Provider: "acme", Requirement: need, Runs: 30, Passes: 30}, 24*time.Hour)

	_, _ = operator.RevokeQualification(ctx, "acme", need, onejob.Decision{By: "ada", Reason: "answers in the wrong language"})
	for q, err := range operator.Qualifications(ctx) {
		fmt.Println(q.Provider, q.Contract, q.By, q.RevokedAt.IsZero(), err)
	}
	_, _, err := jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "report-1043", Kind: "summarize"},
		onejob.Try{Provider: "acme", Timeout: time.Minute, Require: &need})
	fmt.Println(errors.Is(err, onejob.ErrNotQualified))
	// Output:
	// acme summary/3 ada false <nil>
	// true
}

func ExampleOperator_CancelAttempt() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	attempt := doubtful(jobs, "order-1042")

	job, _ := onejob.NewOperator(jobs).CancelAttempt(ctx, attempt.ID,
		onejob.Decision{By: "ada", Reason: "charged by hand, refund if it shows up"})
	fmt.Println(job.Status())
	_, err := jobs.Complete(ctx, attempt, []byte("here I am"))
	fmt.Println(errors.Is(err, onejob.ErrLateResult))
	// Output:
	// pending
	// true
}

func ExampleOperator_CancelJob() {
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	attempt := doubtful(jobs, "order-1042")

	job, _ := onejob.NewOperator(jobs).CancelJob(context.Background(), attempt.JobID,
		onejob.Decision{By: "ada", Reason: "the customer withdrew the order"})
	fmt.Println(job.Status(), job.Attempt.State)
	// Output:
	// canceled unknown
}

func ExampleOperator_Attempts() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	doubtful(jobs, "order-1")
	doubtful(jobs, "order-2")

	filter := onejob.Filter{States: []onejob.State{onejob.StateUnknown}, Kind: "charge"}
	for entry, err := range onejob.NewOperator(jobs).Attempts(ctx, filter) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(entry.Job.Status(), entry.Attempt.Provider, entry.Attempt.Cause)
	}
	// Output:
	// unknown acme-pay timeout
	// unknown acme-pay timeout
}

// Ask the provider what became of the attempts in doubt.
func ExampleOperator_Reconcile() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	doubtful(jobs, "order-1")

	lookUp := func(ctx context.Context, job onejob.Job, attempt onejob.Attempt) ([]byte, error) {
		// GET /charges?idempotency_key=<attempt.ProviderKey>
		return []byte(`{"charge":"ch_1"}`), nil
	}
	unknown, err := onejob.NewOperator(jobs).Reconcile(ctx, onejob.Filter{}, lookUp)
	job, _ := jobs.GetByKey(ctx, "user-7", "order-1")
	fmt.Println(unknown, err, job.Status())
	// Output:
	// 0 <nil> completed
}

func ExampleOperator_Sweep() {
	ctx := context.Background()
	now := time.Now()
	jobs, closeJobs := openJobs(&onejob.Options{Now: func() time.Time { return now }})
	defer closeJobs()
	_, _, _ = jobs.Start(ctx, onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "charge"},
		onejob.Try{Provider: "acme-pay", Timeout: time.Minute})

	now = now.Add(2 * time.Minute)
	swept, err := onejob.NewOperator(jobs).Sweep(ctx, 100)
	fmt.Println(len(swept), swept[0].State, err)
	// Output:
	// 1 unknown <nil>
}

func ExampleOperator_Purge() {
	ctx := context.Background()
	now := time.Now()
	jobs, closeJobs := openJobs(&onejob.Options{Now: func() time.Time { return now }})
	defer closeJobs()
	in := onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "charge"}
	_, attempt, _ := jobs.Start(ctx, in, onejob.Try{Provider: "acme-pay", Timeout: time.Minute})
	_, _ = jobs.Complete(ctx, attempt, []byte("done"))

	now = now.Add(40 * 24 * time.Hour)
	month, years := 30*24*time.Hour, 3*365*24*time.Hour
	n, err := onejob.NewOperator(jobs).Purge(ctx, onejob.Retention{Payloads: month, Tombstones: years}, 1000)
	fmt.Println(n, err)

	// A very late retry is not executed again.
	_, _, err = jobs.Create(ctx, in)
	fmt.Println(errors.Is(err, onejob.ErrKeyRetired))
	// Output:
	// 1 <nil>
	// true
}

func ExampleOperator_Stats() {
	ctx := context.Background()
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()
	doubtful(jobs, "order-1")

	stats, err := onejob.NewOperator(jobs).Stats(ctx)
	fmt.Println(stats.Open, stats.Unknown, err)
	// Output:
	// 1 1 <nil>
}

func ExampleOperator_Doctor() {
	jobs, closeJobs := openJobs(nil)
	defer closeJobs()

	findings, _ := onejob.NewOperator(jobs).Doctor(context.Background())
	for _, f := range findings {
		fmt.Println(f.Setting, f.Value, f.Breaks)
	}
	// Output:
	// journal_mode memory true
}

// Of all processes that wake up at midnight one makes the report.
func ExampleOperator_TakeTurn() {
	jobs, done := openJobs(nil)
	defer done()
	op := onejob.NewOperator(jobs)
	for _, process := range []string{"host-1/4711", "host-2/815", "host-1/4711"} {
		taken, err := op.TakeTurn(context.Background(), "report", process, time.Hour)
		fmt.Println(process, taken, err)
	}
	// Output:
	// host-1/4711 true <nil>
	// host-2/815 false <nil>
	// host-1/4711 true <nil>
}
