package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// Run stores the intent and walks the providers until one has answered, asking
// each once at most: first those that the job's attempts so far have asked
// least. It returns the completed job, whoever completed it, now or long ago.
//
// An *[Error] says why there is no result:
//
//   - onejob.ErrInDoubt: an attempt may have taken effect; Error.Attempt is that
//     one. No other provider was asked. Run again later: it first asks the
//     provider what became of it, where that is a provider.Resolver.
//   - onejob.ErrAttemptOpen: another worker is at it. This one called nobody.
//   - onejob.ErrNotQualified: the next provider has not proven that it keeps the
//     contract. The walk stops there and skips nobody.
//   - [ErrNoTargetLeft], [ErrTriesUsed], [ErrOutOfTime]. Where an attempt of a
//     race is still in doubt these are onejob.ErrInDoubt, and Error.Then says the
//     rest.
//   - the refusals of the job: onejob.ErrKeyConflict, ErrJobCanceled, ErrInvalid
//     and so on; onejob.ErrUnavailable comes where the walk stood between two
//     attempts, with no provider called by this run since.
//
// The end of ctx keeps the next attempt from beginning. An attempt under way
// goes on to its own deadline, for its provider may have acted. A panic of a
// provider leaves its attempt unknown and goes on here.
func (r *Runner) Run(ctx context.Context, in onejob.Intent) (onejob.Job, error) {
	if in.Kind != r.c.Kind {
		return onejob.Job{}, &Error{Err: fmt.Errorf("%w: Intent.Kind is not the kind that this runner runs", onejob.ErrInvalid)}
	}
	if _, _, ok := r.provider(in.Target); in.Target != "" && !ok {
		return onejob.Job{}, &Error{Err: fmt.Errorf("%w: Intent.Target is none of this runner's providers", onejob.ErrInvalid)}
	}
	w := &walk{r: r, in: in, outcomes: make(chan outcome), left: make(chan struct{}),
		stale: map[onejob.AttemptID]bool{}, asked: map[onejob.AttemptID]bool{}, used: map[string]bool{}, own: map[onejob.AttemptID]bool{}}
	defer close(w.left)
	return w.run(ctx)
}

// walk is one Run.
type walk struct {
	r        *Runner
	in       onejob.Intent
	outcomes chan outcome
	left     chan struct{} // Run has returned
	flying   int           // calls of Jobs.Do under way
	turn     int           // which of them is the newest
	asked    map[onejob.AttemptID]bool
	detached *onejob.Attempt           // one that was seen so, if any
	own      map[onejob.AttemptID]bool // attempts that this run is waiting for
	used     map[string]bool           // providers that this run has asked
	stale    map[onejob.AttemptID]bool // attempts that called nobody
}

// run walks, and then waits: nothing begins any more, but what is under way may
// still complete the job.
func (w *walk) run(ctx context.Context) (onejob.Job, error) {
	job, err := w.walk(ctx)
	for err != nil && w.flying > 0 {
		if o := w.receive(); o.err == nil {
			return o.job, nil
		}
	}
	if err == nil {
		return job, nil
	}
	return w.end(ctx, job, err)
}

func (w *walk) walk(ctx context.Context) (onejob.Job, error) {
	for {
		job, attempts, err := w.look(ctx)
		if err != nil {
			return job, stopped(job, "", err)
		}
		if job.State == onejob.JobCompleted {
			return job, nil
		}
		if open := job.Attempt; open != nil {
			if open.State != onejob.StateUnknown || !w.resolve(ctx, job, *open) {
				return job, stopped(job, open.Provider, refusal(job))
			}
			continue // and see how it stands now
		}
		if w.resolveDetached(ctx, job, attempts) {
			continue
		}
		p, route, err := w.next(job, attempts)
		if err != nil {
			return job, &Error{Err: err, Job: job}
		}
		job, goOn, err := w.attempt(ctx, turn{p: p, route: route, job: job, attempts: attempts})
		if !goOn {
			return job, err
		}
	}
}

// refusal is what BeginAttempt would say.
func refusal(job onejob.Job) error {
	return &onejob.Error{Op: "Run", Err: onejob.ErrAttemptOpen, Job: job, Attempt: job.Attempt}
}

// resolve asks about an attempt, once in a run. It reports whether it has.
func (w *walk) resolve(ctx context.Context, job onejob.Job, a onejob.Attempt) bool {
	if w.asked[a.ID] {
		return false
	}
	w.asked[a.ID] = true
	w.r.resolve(ctx, job, a)
	return true
}

// resolveDetached asks about those that were let run by somebody else or in an
// earlier run, once they are past their deadline, before anybody is called
// beside them. It reports whether it has.
func (w *walk) resolveDetached(ctx context.Context, job onejob.Job, attempts []onejob.Attempt) (any bool) {
	for _, a := range attempts {
		if a.State == onejob.StateDetached && !w.own[a.ID] && w.r.overdue(a) && w.resolve(ctx, job, a) {
			any = true
		}
	}
	return any
}

// overdue reports whether the attempt's call may be taken to be over: to ask a
// provider about one that is under way, by sending it again, would be a second
// call.
func (r *Runner) overdue(a onejob.Attempt) bool { return !r.c.Now().Before(a.Deadline) }

// end is how a walk ends that has no result. What is detached may have acted,
// and may still win: then the job is in doubt, whatever else is the matter.
func (w *walk) end(ctx context.Context, job onejob.Job, err error) (onejob.Job, error) {
	if !errors.Is(err, ErrNoTargetLeft) && !errors.Is(err, ErrOutOfTime) && !errors.Is(err, onejob.ErrNotQualified) &&
		!errors.Is(err, onejob.ErrTooManyAttempts) && !(errors.Is(err, onejob.ErrUnavailable) && w.detached != nil) {
		return job, err
	}
	// Also where the caller has gone meanwhile: what is told may be acted upon.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.r.c.Timeout+endTime)
	defer cancel()
	w.own = nil // nobody waits for them any more
	for asks := true; ; asks = false {
		now, attempts, lerr := w.look(ctx)
		switch {
		case lerr != nil && w.detached != nil:
			return job, inDoubt(err, job, []onejob.Attempt{*w.detached})
		case lerr != nil:
			return job, stopped(job, "", lerr)
		case now.State == onejob.JobCompleted:
			return now, nil
		case now.Attempt != nil:
			return now, stopped(now, now.Attempt.Provider, refusal(now)) // another worker's
		case !asks || !w.resolveDetached(ctx, now, attempts):
			return now, inDoubt(err, now, attempts)
		}
	}
}

const endTime = 10 * time.Second

// inDoubt is err, or the doubt that is more than that.
func inDoubt(err error, job onejob.Job, attempts []onejob.Attempt) error {
	for i := range attempts {
		if a := &attempts[i]; a.State == onejob.StateDetached {
			doubt := &onejob.Error{Op: "Run", Err: onejob.ErrInDoubt, Job: job, Attempt: a}
			return &Error{Err: doubt, Provider: a.Provider, Job: job, Attempt: a, Then: err}
		}
	}
	return err
}

// look reads the job and its attempts. A key that is new gives neither, and
// costs no write: Do stores the job together with its first attempt.
func (w *walk) look(ctx context.Context) (onejob.Job, []onejob.Attempt, error) {
	job, err := w.r.jobs.GetByKey(ctx, w.in.Owner, w.in.Key)
	if errors.Is(err, onejob.ErrNotFound) {
		return onejob.Job{}, nil, nil
	}
	if err == nil {
		job, _, err = w.r.jobs.Create(ctx, w.in) // it is there: this asks whether the input is the same
	}
	if err != nil {
		return job, nil, err
	}
	attempts, err := w.r.jobs.Attempts(ctx, w.in.Owner, job.ID)
	for i := range attempts {
		if attempts[i].State == onejob.StateDetached {
			w.detached = &attempts[i]
		}
	}
	return job, attempts, err
}

// next is the provider with the fewest attempts so far, the first of those with
// as many; never one that this run has asked, nor one whose earlier attempt is
// detached. So a walk that a process did
// not live to end goes on where it stood.
func (w *walk) next(job onejob.Job, attempts []onejob.Attempt) (provider.Provider, provider.Route, error) {
	if job.ID != "" && w.r.c.Total > 0 && w.r.remaining(job) < w.r.c.Timeout/10 {
		return nil, provider.Route{}, ErrOutOfTime
	}
	best, least, again := -1, w.r.c.Tries, false
	for i, route := range w.r.routes {
		if w.in.Target != "" && w.in.Target != route.Name {
			continue
		}
		tried, blocked := triesOf(route.Name, attempts, w.stale)
		switch {
		case blocked || tried >= w.r.c.Tries:
		case w.used[route.Name]:
			again = true
		case tried < least:
			best, least = i, tried
		}
	}
	switch {
	case best >= 0:
		return w.r.c.Providers[best], w.r.routes[best], nil
	case again:
		return nil, provider.Route{}, ErrNoTargetLeft
	}
	return nil, provider.Route{}, ErrTriesUsed
}

// triesOf counts a provider's attempts. One that is detached blocks its
// provider: it may still act on that one, with the same key.
func triesOf(name string, attempts []onejob.Attempt, stale map[onejob.AttemptID]bool) (tried int, blocked bool) {
	for _, a := range attempts {
		if a.Provider != name || stale[a.ID] {
			continue
		}
		tried++
		blocked = blocked || a.State == onejob.StateDetached
	}
	return tried, blocked
}

func (r *Runner) remaining(job onejob.Job) time.Duration {
	return job.CreatedAt.Add(r.c.Total).Sub(r.c.Now())
}

// try is what the next attempt is begun with. Every provider but that of the
// job's first attempt needs its proof.
func (w *walk) try(job onejob.Job, route provider.Route, attempts []onejob.Attempt) onejob.Try {
	c := w.r.c
	t := onejob.Try{Provider: route.Name, Timeout: c.Timeout}
	if c.Total > 0 {
		left := c.Total
		if job.ID != "" {
			left = w.r.remaining(job)
		}
		t.Timeout = min(t.Timeout, left)
	}
	if c.Contract != nil && (c.QualifyFirst || !isFirst(route, attempts)) {
		need := c.Contract.Requirement(route)
		t.Require = &need
	}
	return t
}

// isFirst reports whether a job's first attempt is, or would be, this
// provider's.
func isFirst(route provider.Route, attempts []onejob.Attempt) bool {
	return len(attempts) == 0 || attempts[0].Provider == route.Name
}

// Wait returns once no answer is outstanding that runs did not wait for: of
// providers that have passed their deadline, and of those that lost a race. Each
// is written as it comes. Call it before the process ends, with a ctx that ends.
func (r *Runner) Wait(ctx context.Context) error { return r.late.Wait(ctx) }
