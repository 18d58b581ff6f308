package chat_test

import (
	"context"
	"fmt"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// One route to one model, asked once. The server is a local one that adds up.
func ExampleNew() {
	server, err := chattest.Serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	p, err := chat.New(chat.Config{
		Name: "acme", URL: server.URL, Model: chattest.Model,
		System: "Add up the items. Prices are in cents.", MaxTokens: 256,
		KeyHeader: "Idempotency-Key", // this server deduplicates by it
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := p.Call(context.Background(), provider.Request{
		Job:     onejob.Job{Intent: onejob.Intent{Params: []byte(`{"items":[{"name":"pen","cents":120,"count":3}]}`)}},
		Attempt: onejob.Attempt{ProviderKey: "5f2c"},
	})
	fmt.Println(reply.Verdict, reply.Model, reply.Ref, err)
	fmt.Println(string(reply.Output))

	server.Die() // it does the work and closes the connection: nobody knows
	reply, err = p.Call(context.Background(), provider.Request{
		Job: onejob.Job{Intent: onejob.Intent{Params: []byte(`{"items":[]}`)}},
	})
	fmt.Println(reply.Verdict, err)
	// Output:
	// done large-2 run-1 <nil>
	// {"total":360,"unit":"cents","items":1,"comment":"added up"}
	// unknown EOF
}
