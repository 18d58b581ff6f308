// Package console is the operator's page: an [http.Handler] that a host mounts
// behind its own login. It shows what is in doubt, draws the timeline of a job,
// and takes the decisions of [onejob.Operator], each with a name and a reason.
//
//	c, err := console.New(jobs, &console.Options{By: nameOfWhoIsLoggedIn})
//	mux.Handle("/onejob/", requireLogin(http.StripPrefix("/onejob", c)))
//
// It has no login of its own. Whoever reaches it sees every owner's jobs and,
// unless it is read-only, may decide on them.
//
// It needs no JavaScript, asks no other server, and works under any prefix:
// all its links are relative.
//
// # Against forged requests
//
// A decision is a POST that the browser itself says comes from the console's own
// pages: Sec-Fetch-Site is same-origin, or, where a browser sends none (over
// plain HTTP it does not), Origin is the host that the request was sent to. A
// POST with neither is refused. No cookie and no token are involved, so there is
// nothing to lose when a host restarts.
//
// A proxy before the host must pass both headers on. Over HTTPS nothing else is
// needed. Over plain HTTP behind a proxy that changes Host, name the address in
// the browser's bar in [Options.TrustedOrigins]; otherwise decisions are refused,
// and nothing is let through. A Referrer-Policy of no-referrer, set by a proxy or
// by the host around the console, makes browsers send "Origin: null", which is
// refused over plain HTTP.
//
// # What is shown
//
// Owners, keys, causes and reasons are shown, and of each attempt the provider's
// handle and the provider key; params and results only where
// [Options.ShowPayloads] says so. The owner of a filter stands in the address, and
// so in the access logs of proxies; what is looked up by key does not. Whatever
// was stored is shown as text, with characters that cannot be seen or that turn
// the direction of writing made visible.
package console

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// Options change what the console does. The zero value serves: whoever reaches
// it may decide and types a name.
type Options struct {
	// By returns the name of whoever is logged in. It is stored with each decision
	// and cannot be edited. Where it returns "", nothing can be decided. Nil asks
	// for a name in the form: then a name is what somebody has typed.
	By func(r *http.Request) string
	// Allow reports whether whoever sent r may decide. Nil allows everybody who
	// reaches the console.
	Allow func(r *http.Request) bool
	// ReadOnly refuses every decision, and leaves them out of the pages.
	ReadOnly bool
	// ShowPayloads reports whether whoever sent r may see params and results: as
	// text, cut after 8 KiB. Nil hides them; sizes are always shown.
	ShowPayloads func(r *http.Request) bool
	// CheckResult looks at a result that an operator has entered before it completes
	// the job: return an error where the host could not serve it. The operator is
	// shown its text, beside the field. It may be called twice for one decision, and
	// is not asked where the job is over and the result would be thrown away. Nil
	// takes every result.
	CheckResult func(job onejob.Job, result []byte) error
	// TrustedOrigins are further origins that decisions may come from, such as
	// "http://ops.example.com:8080": see the comment of the package.
	TrustedOrigins []string
	// CountEvery is how long the counts of the overview are kept: they read the
	// whole table of jobs. Default: a minute.
	CountEvery time.Duration
	// Timeout bounds what one page may ask of the database, and a decision and a
	// counting by three times that, whatever the driver does. Default: 10 seconds.
	// A connection that has fallen silent is given up by the page only: it stays
	// taken from the pool until the driver notices, for which package pgdial is.
	Timeout time.Duration
	// Now is the clock that ages are told by. Default: time.Now. Where jobs have
	// Options.Now, give the same.
	Now func() time.Time
	// Logger gets what went wrong, without keys, owners, params and results. Nil
	// is silence.
	Logger *slog.Logger
}

// Console is the handler. It is safe for use by many goroutines. None of its own
// runs between requests, but for a counting that may end after its page.
type Console struct {
	jobs   *onejob.Jobs
	op     *onejob.Operator
	o      Options
	origin *http.CrossOriginProtection
	counts counts
	// farthest is how many attempts a page of the list walks at most.
	farthest int
}

// New returns a console over jobs. Give it the jobs of the processes that serve,
// or others with the same Options: what an operator confirms runs
// Options.OnComplete here.
//
// The error is for no jobs, a negative duration, or an origin that is none.
func New(jobs *onejob.Jobs, opts *Options) (*Console, error) {
	if jobs == nil {
		return nil, errors.New("console: jobs are required")
	}
	c := &Console{jobs: jobs, op: onejob.NewOperator(jobs), origin: http.NewCrossOriginProtection(),
		farthest: maxWalk}
	if opts != nil {
		c.o = *opts
	}
	if c.o.CountEvery < 0 || c.o.Timeout < 0 {
		return nil, errors.New("console: Options.CountEvery and Options.Timeout must not be negative")
	}
	for _, origin := range c.o.TrustedOrigins {
		if err := c.origin.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("console: Options.TrustedOrigins: %w", err)
		}
	}
	if c.o.CountEvery == 0 {
		c.o.CountEvery = time.Minute
	}
	if c.o.Timeout == 0 {
		c.o.Timeout = 10 * time.Second
	}
	if c.o.Now == nil {
		c.o.Now = time.Now
	}
	if c.o.Logger == nil {
		c.o.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
