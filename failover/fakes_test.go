package failover_test

import (
	"context"
	"net"
	"syscall"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
)

// replies says always the same. What no server can be made to do at will.
type replies struct {
	provider.Provider
	reply provider.Reply
	err   error
}

func (p replies) Call(context.Context, provider.Request) (provider.Reply, error) {
	return p.reply, p.err
}

func reply(p provider.Provider, r provider.Reply, err error) provider.Provider {
	return replies{p, r, err}
}

func dialError() error { return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} }

// deaf ignores its context.
type deaf struct {
	provider.Provider
	release chan struct{}
}

func (p deaf) Call(_ context.Context, r provider.Request) (provider.Reply, error) {
	<-p.release
	return p.Provider.Call(context.Background(), r)
}

// deafAsking can be asked what became of a call.
type deafAsking struct{ deaf }

func (p deafAsking) Unwrap() provider.Provider { return p.deaf.Provider }

type panics struct{ provider.Provider }

func (panics) Call(context.Context, provider.Request) (provider.Reply, error) { panic("boom") }

func must(job onejob.Job, err error) onejob.Job {
	if err != nil {
		panic(err)
	}
	return job
}

// routed goes by another route.
type routed struct {
	provider.Provider
	route provider.Route
}

func (r routed) Route() provider.Route { return r.route }
