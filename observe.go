package onejob

import (
	"context"
	"errors"
	"net"
)

// Observer hears of every operation of a [Jobs] and of its operators: for
// traces and metrics. Package otelonejob, a module of its own, is one for
// OpenTelemetry.
type Observer interface {
	// Observe is called on the caller's goroutine when an operation begins,
	// with its name, such as "BeginAttempt": those of [Error.Op]. The
	// operation goes on under the context returned, which must be made from
	// ctx. The function returned is called once when it ends, also by a
	// panic; nil says that nobody asks.
	//
	// Operations may hold others, under their contexts: Do holds Start, then
	// Complete or Fail, and Reconcile holds Complete, Fail or MarkUnknown. What is
	// not observed: Operator.Attempts and Qualifications, which page, and Doctor.
	//
	// Both functions are called by many goroutines at once, must return soon,
	// and must not panic.
	Observe(ctx context.Context, op string) (context.Context, func(Observation))
}

// Observation is what became of an operation. It holds params, results, keys
// and owners: show IDs, kinds, providers and states. Params and results are the
// caller's own bytes: do not change them, and do not read them once the function
// has returned.
type Observation struct {
	// Job is the job as it stands; its ID is empty where none is known.
	Job Job
	// Attempt is the one that the operation was about, as it stands, or the one
	// in its way; nil where there is none.
	Attempt *Attempt
	// Attempts are those that a Sweep found overdue.
	Attempts []Attempt
	// Created reports that this call stored the job. What was stored by a
	// CreateTx is gone if the host rolls back. For Do see the Start within it.
	Created bool
	// Changed reports that this call changed the attempt or the job: began it,
	// completed it, moved it to another state; of TakeTurn, that the turn was
	// taken. A repeated call that finds its work done has changed nothing; one that
	// repeats itself because its first answer was lost, and finds its work done,
	// has, though that may have been an earlier call's. Some changes go unseen: a
	// driver may send a statement twice by itself, and with Try.ID set nothing tells
	// this call's job or attempt from an earlier one's. A Complete that lost has
	// changed nothing, though its attempt may be late now: see Attempt. Unknown
	// attempts marked unknown again, detached ones detached or marked unknown
	// again, and an Extend that moves nothing count as changed. For Do see the
	// operations within it.
	Changed bool
	// Count is how many jobs a CreateMany stored or a Purge purged.
	Count int
	// Err is what the caller gets. A panic of the host's code shows as an error
	// that says so.
	Err error
}

// observed is an operation under way of which somebody hears. The methods do
// nothing on nil.
type observed struct {
	o      Observation
	end    func(Observation)
	inHost bool // the host's code runs, and may end its goroutine
}

type observedKey struct{}

// observe begins op. It costs nothing where nobody asks.
func (s *Jobs) observe(ctx context.Context, op string) (context.Context, *observed) {
	if s.observer == nil {
		return ctx, nil
	}
	ctx, end := s.observer.Observe(ctx, op)
	if end == nil {
		// Or an inner step would write into the observation around it.
		return context.WithValue(ctx, observedKey{}, (*observed)(nil)), nil
	}
	w := &observed{end: end}
	return context.WithValue(ctx, observedKey{}, w), w
}

// observing returns the operation that ctx belongs to, nil where nobody asks.
func (s *Jobs) observing(ctx context.Context) *observed {
	if s.observer == nil {
		return nil
	}
	w, _ := ctx.Value(observedKey{}).(*observed)
	return w
}

// errNoReturn is what an operation shows that a panic or runtime.Goexit of the
// host's code ended.
const errNoReturn = ruleError("the call or OnComplete did not return: it panicked or ended its goroutine")

// ends tells how it went; it is deferred. job may be nil. What it tells is a
// copy: the library completes an error on its way to the caller, and callers do
// as they like with theirs.
func (w *observed) ends(job *Job, err *error) {
	panicked := recover()
	o := w.o
	if job != nil && job.ID != "" {
		o.Job = *job
	}
	o.Err = ownError(*err)
	if panicked != nil || w.inHost {
		o.Err = errNoReturn
	}
	var e *Error
	if errors.As(o.Err, &e) {
		if o.Job.ID == "" {
			o.Job = e.Job
		}
		if o.Attempt == nil {
			o.Attempt = e.Attempt
		}
	}
	if o.Attempt == nil && o.Changed {
		o.Attempt = o.Job.Attempt
	}
	o.Attempt, o.Job.Attempt = ownAttempt(o.Attempt), ownAttempt(o.Job.Attempt)
	w.end(o)
	if panicked != nil {
		panic(panicked) // on the stack of the first one, which its trace still shows
	}
}

func ownAttempt(a *Attempt) *Attempt {
	if a == nil {
		return nil
	}
	own := *a
	return &own
}

// saw notes the attempt of a step, and whether this very step changed it.
func (w *observed) saw(a *Attempt, changed bool) {
	if w == nil {
		return
	}
	if a != nil {
		w.o.Attempt = a
	}
	w.o.Changed = w.o.Changed || changed
}

// tried wraps a step that is repeated once when its answer was lost: work that the
// repeat finds done is this call's, unless the first try never left.
func tried[T any](s *Jobs, step func(ctx context.Context) (T, error)) func(ctx context.Context) (T, error) {
	if s.observer == nil {
		return step
	}
	var first error
	return func(ctx context.Context) (T, error) {
		v, err := step(ctx)
		var dial *net.OpError
		if first != nil && err == nil && (!errors.As(first, &dial) || dial.Op != "dial") {
			s.observing(ctx).saw(nil, true)
		}
		first = err
		return v, err
	}
}

// stands notes the job where the operation does not return it.
func (w *observed) stands(job Job) {
	if w != nil {
		w.o.Job = job
	}
}

func (w *observed) made(created bool) {
	if w != nil {
		w.o.Created = w.o.Created || created
	}
}

func (w *observed) counted(n int) {
	if w != nil {
		w.o.Count += n
	}
}

func (w *observed) swept(attempts []Attempt) {
	if w != nil {
		w.o.Attempts = attempts
		w.o.Changed = len(attempts) > 0
	}
}

// host says that the host's code runs from now on, or no more: of a
// runtime.Goexit nothing else tells.
func (w *observed) host(runs bool) {
	if w != nil {
		w.inHost = runs
	}
}
