package provider_test

import (
	"context"
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// A provider that keeps the answer of each key for a day: the call is repeated
// within 23 hours to learn what became of it, and the work is done once.
func ExampleReplays() {
	server, err := chattest.Serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	server.Replay()
	acme, err := server.Provider("acme")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := provider.Replays(acme, 23*time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	request := provider.Request{
		Job:     onejob.Job{Intent: onejob.Intent{Params: []byte(`{"items":[{"name":"pen","cents":120,"count":3}]}`)}},
		Attempt: onejob.Attempt{ProviderKey: "5f2c", StartedAt: time.Now()},
	}
	server.Die() // it does the work, and the connection closes
	reply, _ := p.Call(ctx, request)
	fmt.Println(reply.Verdict)

	server.Well()
	resolver, _ := provider.As[provider.Resolver](p) // the runner of package failover does this
	reply, _ = resolver.Resolve(ctx, request)
	fmt.Println(reply.Verdict, string(reply.Output))
	fmt.Println("executions:", server.Executions())
	// Output:
	// unknown
	// done {"total":360,"unit":"cents","items":1,"comment":"added up"}
	// executions: 1
}
