package tiktoken_test

import (
	"fmt"
	"log"

	"github.com/onejob-go/onejob/contract/tiktoken"
)

// What looks like a special token is counted as the text that it is. For a
// qualification, put the tokenizer into chat.Config.
func Example() {
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"hello world", "hello <|endoftext|>"} {
		tokens, err := tokenizer.Encode(text)
		if err != nil {
			log.Fatal(err)
		}
		back, err := tokenizer.Decode(tokens)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(tokens), "tokens:", back)
	}
	// Output:
	// 2 tokens: hello world
	// 8 tokens: hello <|endoftext|>
}
