package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// The check compares output with input; the good answers show that it does.
func ExampleNew() {
	shouts := func(params, output []byte) error {
		var in, out struct{ Text string }
		if json.Unmarshal(params, &in) != nil || json.Unmarshal(output, &out) != nil || out.Text != in.Text+"!" {
			return errors.New("it is not the text with a mark")
		}
		return nil
	}
	spec := contract.Spec{
		Name: "shout", Revision: "1", TTL: 24 * time.Hour,
		Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Keys:   []string{"text"},
		Check:  shouts,
		Cases: []contract.Case{
			{Name: "a", Params: []byte(`{"text":"a"}`), Good: []byte(`{"text":"a!"}`)},
			{Name: "b", Params: []byte(`{"text":"b"}`), Good: []byte(`{"text":"b!"}`)},
		},
	}
	c, err := contract.New(spec)
	fmt.Println(err)
	fmt.Println(c.Validate([]byte(`{"text":"hey"}`), []byte(`{"text":"hey!"}`)))
	fmt.Println(c.Validate([]byte(`{"text":"hey"}`), []byte(`{"text":"hey!","sure":true}`)))

	spec.Check = func(params, output []byte) error { return nil }
	_, err = contract.New(spec)
	fmt.Println(errors.Is(err, contract.ErrConstant))
	// Output:
	// <nil>
	// <nil>
	// the output breaks the contract: extra key
	// true
}

func ExampleContract_Qualify() {
	server, err := chattest.Serve() // stands for a real one
	if err != nil {
		panic(err)
	}
	defer server.Close()
	server.Lie("number-strings")
	p, err := server.Provider("acme")
	if err != nil {
		panic(err)
	}
	c, err := chattest.Contract()
	if err != nil {
		panic(err)
	}
	report, err := c.Qualify(context.Background(), p, &contract.QualifyOptions{Parallel: 4})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Passed(), report.Passes, "of", report.Runs, report.Reasons())
	fmt.Printf("with none of 30 failed it may still fail %.1f %% of the time\n", 100*contract.Bound(0, 30))
	// Output:
	// false 0 of 20 [number as text]
	// with none of 30 failed it may still fail 9.5 % of the time
}
