// Package walk is what the examples of failover share: local servers that speak
// the chat API, and the story of a job.
package walk

import (
	"context"
	"fmt"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/examples/internal/timeline"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// Target is a server and the adapter for it.
type Target struct {
	*chattest.Server
	Provider provider.Provider
}

// Serve starts a server under a route's name.
func Serve(name, lie string) (Target, error) {
	s, err := chattest.Serve()
	if err != nil {
		return Target{}, err
	}
	s.Lie(lie)
	p, err := s.Provider(name)
	return Target{s, p}, err
}

// Stubborn is a client that does not mind its context, as many do: its call goes
// on after the deadline, and its answer comes late.
type Stubborn struct{ provider.Provider }

// Call implements provider.Provider.
func (s Stubborn) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	return s.Provider.Call(context.WithoutCancel(ctx), r)
}

// Unwrap shows what else it can do.
func (s Stubborn) Unwrap() provider.Provider { return s.Provider }

// Qualify lets a target prove itself, keeps what came of it, and forgets the
// requests that this took.
func Qualify(ctx context.Context, op *onejob.Operator, c *contract.Contract, t Target) (contract.Report, error) {
	report, err := c.Qualify(ctx, t.Provider, &contract.QualifyOptions{Parallel: 4})
	if err != nil {
		return report, err
	}
	_, err = contract.Save(ctx, op, report)
	t.Forget()
	return report, err
}

// Calls is how many requests a server has seen, look-ups aside.
func (t Target) Calls() (n int) {
	for _, r := range t.Requests() {
		if !r.Lookup {
			n++
		}
	}
	return n
}

// Order is an intent for adding up an order of pens.
func Order(key string) onejob.Intent {
	return onejob.Intent{Owner: "user-7", Key: key, Kind: "order-sum",
		Params: []byte(`{"items":[{"name":"pen","cents":120,"count":3}]}`)}
}

// Story prints the attempts of a job.
func Story(ctx context.Context, tl *timeline.Timeline, op *onejob.Operator, id onejob.JobID) error {
	job, attempts, err := op.Get(ctx, id)
	if err != nil {
		return err
	}
	tl.Row("rows", "job %s is %s", timeline.Short(job.ID), job.Status())
	for _, a := range attempts {
		line := fmt.Sprintf("attempt %d  %-8s  %s", a.Number, a.Provider, a.State)
		if a.By != "" {
			line += fmt.Sprintf(", by %s: %q", a.By, a.Reason)
		}
		if !a.LateAt.IsZero() {
			line += fmt.Sprintf("; a late result of %d bytes was dropped", a.LateSize)
		}
		tl.Note("%s", line)
	}
	return nil
}
