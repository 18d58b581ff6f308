// Package failover runs a job with the first of several providers that can do
// it: the next one is asked only when the one before is known to be over, without
// an answer that counts, and only if it has proven that it keeps the same
// contract.
//
// A timeout is no failure. A provider that says nothing may have acted, so the
// walk stops there: the job is blocked until the provider tells, the answer
// comes after all, or an operator decides. Run again, the [Runner] goes on.
//
// Who would rather have two providers act than wait sets [Config.Patience]:
// then two may run, on purpose, and the first to answer wins.
package failover

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/internal/pending"
	"github.com/onejob-go/onejob/provider"
)

// Config is what a [Runner] needs.
type Config struct {
	// Kind is the kind of the jobs, as in Intent.Kind. A runner runs one kind,
	// for its contract is that of one. Required.
	Kind string
	// Providers are the targets, in this order. One and more; names differ. A
	// job with Intent.Target set is for that one alone.
	Providers []provider.Provider
	// Contract is what every answer must keep, and what every provider must have
	// proven that comes after a job's first. Required, but for Unproven.
	Contract *contract.Contract
	// QualifyFirst asks the proof of a job's first provider too.
	QualifyFirst bool
	// Timeout is one attempt's, from its beginning. Required. It holds also where
	// a provider ignores its context.
	Timeout time.Duration
	// Total is the time of a job, from its creation, that its attempts share.
	// Where less than a tenth of Timeout is left of it, none begins. Zero sets
	// none.
	Total time.Duration
	// Tries is how many attempts one provider gets at one job, over all runs; one
	// run asks each once at most. It also counts one whose process died before it
	// asked, and one that ended unasked because others were at the job meanwhile.
	// Default: 3.
	Tries int

	// Patience, where it is positive, races on purpose: an attempt that has said
	// nothing for so long is detached, in the name of By, and the next provider
	// is asked beside it, as far as Racers allows. Each of them may act; the first
	// to answer wins, and the others' answers are late. It must be shorter than
	// Timeout.
	Patience time.Duration
	// Racers is how many may run at once in a race. Default: 2.
	Racers int
	// Unproven lets a race go without a contract: any provider may follow, and
	// no answer is looked at. Only with Patience, and without Contract.
	Unproven bool
	// By is whose name stands in the decisions of a race. Default: "failover".
	By string

	// Grace is how long after an attempt's deadline its request may still arrive
	// at the provider. Only past it is "no trace of it" taken for proof. Default:
	// 5 minutes. The store's clock and this process's must agree to well within.
	Grace time.Duration
	// Logger gets what is worth a look: nil is silence.
	Logger *slog.Logger
	// Now is the time in the store's terms. Default: time.Now.
	Now func() time.Time
}

// Runner runs jobs of one kind. It is safe for use by many goroutines, and any
// number of runners in any number of processes may run the same job: one of
// them calls one provider.
type Runner struct {
	c      Config
	jobs   *onejob.Jobs
	op     *onejob.Operator
	routes []provider.Route
	log    *slog.Logger
	late   pending.Count // answers that Run has not waited for
	asked  schedule
	calls  calls // that this process has under way
}

// New checks the settings. Its error names the field.
func New(jobs *onejob.Jobs, c Config) (*Runner, error) {
	if jobs == nil {
		return nil, errors.New("failover: jobs is required")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Tries == 0 {
		c.Tries = 3
	}
	if c.Racers == 0 {
		c.Racers = 2
	}
	if c.By == "" {
		c.By = "failover"
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &Runner{c: c, jobs: jobs, op: onejob.NewOperator(jobs), log: c.Logger}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.c.Providers = slices.Clone(c.Providers)
	for i, p := range r.c.Providers {
		route := p.Route()
		taken := slices.ContainsFunc(r.routes, func(o provider.Route) bool { return o.Name == route.Name })
		switch {
		case route.Name == "" || len(route.Name) > 63 || taken:
			return nil, fmt.Errorf("failover: Config.Providers[%d] must have a name of its own, of 1 to 63 bytes", i)
		case c.Contract != nil && (route.Model == "" || len(route.Model) > 255):
			return nil, fmt.Errorf("failover: Config.Providers[%d] must have a model of 1 to 255 bytes", i)
		}
		r.routes = append(r.routes, route)
	}
	return r, nil
}

func (c *Config) check() error {
	switch {
	case c.Kind == "":
		return errors.New("failover: Config.Kind is required")
	case len(c.Providers) == 0 || slices.Contains(c.Providers, nil):
		return errors.New("failover: Config.Providers must be one or more, none of them nil")
	case c.Timeout <= 0:
		return errors.New("failover: Config.Timeout must be positive")
	case c.Total < 0, c.Tries < 0, c.Patience < 0, c.Grace < 0, c.Racers < 0:
		return errors.New("failover: Config.Total, Tries, Patience, Racers and Grace must not be negative")
	case c.Total > 0 && c.Total < c.Timeout/10:
		return errors.New("failover: Config.Total must be at least a tenth of Timeout, or no attempt ever begins")
	case c.Patience >= c.Timeout || c.Total > 0 && c.Patience >= c.Total:
		return errors.New("failover: Config.Patience must be shorter than Timeout and Total: later an attempt is in doubt, which stops the walk")
	case c.Racers == 1 || c.Racers > 0 && c.Patience == 0:
		return errors.New("failover: Config.Racers is for a race (Patience) of two or more")
	case len(c.By) > 128:
		return errors.New("failover: Config.By must have at most 128 bytes")
	case c.Unproven && (c.Patience == 0 || c.Contract != nil || c.QualifyFirst):
		return errors.New("failover: Config.Unproven is for a race (Patience) without a Contract alone")
	case c.Contract == nil && !c.Unproven:
		return errors.New("failover: Config.Contract is required: a fallback must have proven that it keeps it")
	}
	return nil
}

// provider finds a target by its name.
func (r *Runner) provider(name string) (provider.Provider, provider.Route, bool) {
	i := slices.IndexFunc(r.routes, func(o provider.Route) bool { return o.Name == name })
	if i < 0 {
		return nil, provider.Route{}, false
	}
	return r.c.Providers[i], r.routes[i], true
}
