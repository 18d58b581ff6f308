package worker

import (
	"context"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

type order func(w worker, ctx context.Context, o Order, a *Answer) (onejob.Job, error)

var errTest = errors.New("of a test")

// orders are what a worker can be told to do.
var orders = map[string]order{
	"migrate": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		if o.Limit > 0 {
			return onejob.Job{}, w.store.MigrateTo(ctx, o.Limit)
		}
		return onejob.Job{}, w.store.Migrate(ctx)
	},
	"create": func(w worker, ctx context.Context, o Order, a *Answer) (job onejob.Job, err error) {
		job, a.Created, err = w.jobs.Create(ctx, o.Intent)
		return job, err
	},
	"get": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		return w.jobs.GetByKey(ctx, o.Intent.Owner, o.Intent.Key)
	},
	"start": func(w worker, ctx context.Context, o Order, a *Answer) (onejob.Job, error) {
		job, attempt, err := w.jobs.Start(ctx, o.Intent, o.try())
		a.note(attempt)
		return job, err
	},
	"begin": func(w worker, ctx context.Context, o Order, a *Answer) (onejob.Job, error) {
		job, err := w.jobs.GetByKey(ctx, o.Intent.Owner, o.Intent.Key)
		if err != nil {
			return job, err
		}
		attempt, err := w.jobs.BeginAttempt(ctx, job, o.try())
		a.note(attempt)
		return job, err
	},
	"do": func(w worker, ctx context.Context, o Order, a *Answer) (onejob.Job, error) {
		return w.jobs.Do(ctx, o.Intent, o.try(), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			a.Calls++
			return []byte(o.Result), nil
		})
	},
	"complete": onAttempt(func(w worker, ctx context.Context, o Order, attempt onejob.Attempt) (onejob.Job, error) {
		return w.jobs.Complete(ctx, attempt, []byte(o.Result))
	}),
	"fail": onAttempt(func(w worker, ctx context.Context, _ Order, attempt onejob.Attempt) (onejob.Job, error) {
		return w.jobs.Fail(ctx, attempt, onejob.NoEffect(errTest))
	}),
	"doubt": onAttempt(func(w worker, ctx context.Context, _ Order, attempt onejob.Attempt) (onejob.Job, error) {
		return w.jobs.MarkUnknown(ctx, attempt, errTest)
	}),
	"refer": onAttempt(func(w worker, ctx context.Context, o Order, attempt onejob.Attempt) (onejob.Job, error) {
		_, err := w.jobs.SetExternalRef(ctx, attempt, o.Result)
		return onejob.Job{}, err
	}),
	"detach": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		return w.op.DetachAttempt(ctx, o.Attempt, word)
	},
	"cancel": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		return w.op.CancelJob(ctx, o.Job, word)
	},
	"sweep": func(w worker, ctx context.Context, _ Order, _ *Answer) (onejob.Job, error) {
		_, err := w.op.Sweep(ctx, 100)
		return onejob.Job{}, err
	},
	"purge": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		_, err := w.op.Purge(ctx, onejob.Retention{Payloads: time.Microsecond}, o.Limit)
		return onejob.Job{}, err
	},
	"qualify": func(w worker, ctx context.Context, o Order, _ *Answer) (onejob.Job, error) {
		_, err := w.op.SaveQualification(ctx, onejob.Qualification{
			Requirement: onejob.Requirement{Contract: "receipt", Model: "m-1", Fingerprint: "f-1"},
			Provider:    o.Provider, Runs: 2, Passes: 2, Evidence: []byte(`{"cases":2}`),
		}, time.Hour)
		return onejob.Job{}, err
	},
}

var word = onejob.Decision{By: "a test", Reason: "to see"}

func (o Order) try() onejob.Try {
	return onejob.Try{ID: o.Attempt, Provider: o.Provider, Timeout: time.Hour}
}

func (a *Answer) note(attempt onejob.Attempt) {
	a.Attempt, a.ProviderKey = attempt.ID, attempt.ProviderKey
}

func onAttempt(do func(w worker, ctx context.Context, o Order, attempt onejob.Attempt) (onejob.Job, error)) order {
	return func(w worker, ctx context.Context, o Order, a *Answer) (onejob.Job, error) {
		job, attempt, err := w.jobs.GetAttempt(ctx, o.Attempt)
		if err != nil {
			return job, err
		}
		a.note(attempt)
		return do(w, ctx, o, attempt)
	}
}

// sentinel names an error by what a program branches on.
func sentinel(err error) string {
	for _, s := range []error{
		onejob.ErrInvalid, onejob.ErrNotFound, onejob.ErrKeyConflict, onejob.ErrKeyRetired, onejob.ErrInDoubt,
		onejob.ErrAttemptOpen, onejob.ErrFailed, onejob.ErrCompleted, onejob.ErrJobCanceled, onejob.ErrLateResult,
		onejob.ErrResultMismatch, onejob.ErrAttemptEnded, onejob.ErrUnsupported, onejob.ErrUnavailable,
	} {
		if errors.Is(err, s) {
			return s.Error()
		}
	}
	return "other"
}
