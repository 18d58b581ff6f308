package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/hold"
	"github.com/onejob-go/onejob/provider"
)

// QualifyOptions are the settings of [Contract.Qualify]; nil means the defaults.
type QualifyOptions struct {
	// Kind is the kind of the jobs that the provider will see, as in failover's
	// Config.Kind: set it where an adapter looks at it.
	Kind string
	// Timeout bounds each call, also of a provider that ignores its context.
	// Default: one minute.
	Timeout time.Duration
	// Parallel is how many calls are under way at once. Default: 1.
	Parallel int
	// Progress hears of each run as it ends, one at a time.
	Progress func(Progress)
}

// Progress is how far qualifying has come.
type Progress struct {
	Runs, Planned int
	// Case and Reason are those of the run that has just ended; no reason: it
	// passed.
	Case   string
	Reason Reason
}

// Qualify runs every case as often as the contract says, through p's Call: the
// way of production, but for no cache. Before the first call it looks at the
// prompts; where those are wrong it calls nobody. It fails a provider for one
// failure, and for one call of which nobody knows what came of it.
//
// The report tells what happened; see [Report.Passed]. It is not kept anywhere:
// see [Save]. The error is that of ctx, with what was run so far, or of
// a route that cannot be one.
//
// MIND WHAT THE CASES DO: each is a real call.
func (c *Contract) Qualify(ctx context.Context, p provider.Provider, opts *QualifyOptions) (Report, error) {
	var o QualifyOptions
	if opts != nil {
		o = *opts
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	route := p.Route()
	switch {
	case route.Name == "" || len(route.Name) > 63:
		return Report{}, errors.New("contract: Route.Name must have 1 to 63 bytes")
	case route.Model == "" || len(route.Model) > 255:
		return Report{}, errors.New("contract: Route.Model must have 1 to 255 bytes")
	}
	begin := time.Now()
	r := Report{
		Contract: c.spec.Name, Revision: c.spec.Revision, Route: route, Fingerprint: c.fingerprint(route),
		At: begin.UTC().Truncate(time.Microsecond), TTL: c.spec.TTL, Planned: len(c.spec.Cases) * c.spec.Repeats,
	}
	var failures []Failure
	if r.Prompt, failures = c.prompts(p); len(failures) > 0 {
		r.Prompt.Wrong, r.Failures = true, failures
	} else {
		c.calls(ctx, p, o, &r)
	}
	r.Took, r.Bound = time.Since(begin), Bound(r.Runs-r.Passes, r.Runs)
	if r.Runs < r.Planned && !r.Prompt.Wrong {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// run is one call of one case.
type run struct {
	one    Case
	number int // of the case's runs, from 1
	ended  bool
	reply  provider.Reply
	err    error
	fails  Failure // no reason: it passed
}

// calls makes the runs, the cases in turn, and puts what came of them into r.
func (c *Contract) calls(ctx context.Context, p provider.Provider, o QualifyOptions, r *Report) {
	var runs []*run
	for number := range c.spec.Repeats {
		for _, one := range c.spec.Cases {
			runs = append(runs, &run{one: one, number: number + 1})
		}
	}
	var mu sync.Mutex
	ended := 0
	var panicked any
	turn := func(one *run) {
		defer func() {
			if v := recover(); v != nil { // of Progress: it goes on in the caller
				mu.Lock()
				defer mu.Unlock()
				panicked = v
			}
		}()
		c.call(ctx, p, o, one)
		mu.Lock()
		defer mu.Unlock()
		if ended++; one.ended && o.Progress != nil && panicked == nil {
			o.Progress(Progress{Runs: ended, Planned: r.Planned, Case: one.one.Name, Reason: one.fails.Reason})
		}
	}
	var group sync.WaitGroup
	next := make(chan *run)
	for range max(1, min(o.Parallel, len(runs))) {
		group.Go(func() {
			for one := range next {
				turn(one)
			}
		})
	}
	for _, one := range runs {
		select {
		case next <- one:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	group.Wait()
	if panicked != nil {
		panic(panicked)
	}
	afterwards(runs)
	for _, one := range runs {
		switch {
		case !one.ended:
			continue
		case one.fails.Reason != "":
			r.Failures = append(r.Failures, one.fails)
		default:
			r.Passes++
		}
		r.Runs++
	}
}

// call makes one run. One that the end of the whole ctx has cut off proves
// nothing and is left out.
func (c *Contract) call(whole context.Context, p provider.Provider, o QualifyOptions, one *run) {
	if whole.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(whole, o.Timeout)
	defer cancel()
	route := p.Route()
	id, err := uuid.NewRandom()
	if err != nil {
		one.err = err
		return
	}
	request := provider.Request{
		Job: onejob.Job{Intent: onejob.Intent{Kind: o.Kind, Params: slices.Clone(one.one.Params)}},
		// A key of its own for each run: a provider that deduplicates answers
		// anew.
		Attempt: onejob.Attempt{Provider: route.Name, ProviderKey: id.String(), Timeout: o.Timeout},
		Fresh:   true,
		Handle:  func(context.Context, string) error { return nil },
	}
	one.reply, _, one.err = hold.Call(ctx, func() (reply provider.Reply, err error) {
		defer func() {
			if recover() != nil {
				reply, err = provider.Reply{}, hold.ErrNoReturn
			}
		}()
		return p.Call(ctx, request)
	}, func(provider.Reply, error) {})
	if whole.Err() != nil {
		return
	}
	one.ended = true
	one.fails = c.verdict(route, one)
}

// verdict tells how a run failed, or nothing.
func (c *Contract) verdict(route provider.Route, one *run) Failure {
	f := Failure{Case: one.one.Name, Run: one.number}
	reply := one.reply
	if one.err != nil {
		f.Detail = excerpt(one.err.Error())
	}
	switch {
	case reply.Verdict == provider.NotStarted:
		f.Reason = ReasonNotStarted
	case reply.Verdict == provider.Failed:
		f.Reason = ReasonFailed
	case reply.Verdict != provider.Done:
		f.Reason = ReasonUnknown
	}
	if f.Reason != "" {
		return f
	}
	f.Output = excerpt(reply.Output)
	switch err := c.judge(one.one, one.one.Params, reply.Output); {
	case reply.Refusal:
		f.Reason = ReasonRefused
	case reply.Model != "" && reply.Model != route.Model:
		f.Reason, f.Detail = ReasonModel, "answered by "+excerpt(reply.Model)
	case reply.Cut:
		f.Reason = ReasonCut
	case err != nil:
		f.Reason, _ = reasonOf(err)
		f.Detail = detail(err)
	default:
		return Failure{}
	}
	return f
}

// detail is what people want to know of a violation; the outputs are those of
// the contract's own cases.
func detail(err error) string {
	var v *Violation
	if !errors.As(err, &v) {
		return ""
	}
	if v.Err != nil {
		return excerpt(v.Err.Error())
	}
	return v.Where
}

// afterwards finds what only all runs together show.
func afterwards(runs []*run) {
	outputs, handles := map[string]bool{}, map[string][]string{} // handles by case
	for _, one := range runs {
		if one.ended && one.reply.Verdict == provider.Done {
			outputs[string(one.reply.Output)] = true
			handles[one.one.Name] = append(handles[one.one.Name], one.reply.Ref)
		}
	}
	cached := fromCache(handles)
	for _, one := range runs {
		switch {
		case len(outputs) == 1 && len(handles) > 1 && one.fails.Reason == ReasonWrong:
			one.fails.Reason = ReasonConstant
		case cached && one.ended && one.number > 1 && one.fails.Reason == "":
			one.fails = Failure{Reason: ReasonCached, Case: one.one.Name, Run: one.number}
		}
	}
}

// fromCache reports whether the handles are those of a cache that is keyed by
// the request: all runs of a case have one, and each case has its own. Servers
// that make a handle of few random digits, or of the second, repeat some by
// chance, but not like that.
func fromCache(handles map[string][]string) bool {
	seen := map[string]bool{}
	for _, list := range handles {
		first := list[0]
		if first == "" || len(list) < 2 || seen[first] || slices.ContainsFunc(list, func(h string) bool { return h != first }) {
			return false
		}
		seen[first] = true
	}
	return len(seen) > 1
}
