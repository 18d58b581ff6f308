package tiktoken

import (
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// newer are the beginnings of names that OpenAI's tiktoken knows and the library
// does not.
var newer = []struct{ prefix, encoding string }{
	{"gpt-5", "o200k_base"},
	{"gpt-4.5-", "o200k_base"},
	{"gpt-oss-", "o200k_harmony"},
	{"gpt-35-turbo", "cl100k_base"}, // Azure's name
	{"davinci-002", "cl100k_base"},
	{"babbage-002", "cl100k_base"},
	{"text-embedding-3-", "cl100k_base"},
	{"gpt2", "gpt2"},
}

// encodingOf is the name of a model's encoding.
func encodingOf(model string) (string, bool) {
	// A fine-tuned model has the tokenizer of its base, which its name begins with:
	// ft:gpt-4o-mini:acme::id. The library takes each ft:gpt-4… for a GPT-4.
	if tuned, ok := strings.CutPrefix(model, "ft:"); ok {
		model, _, _ = strings.Cut(tuned, ":")
	}
	for _, n := range newer {
		if strings.HasPrefix(model, n.prefix) {
			return n.encoding, true
		}
	}
	codec, err := tokenizer.ForModel(tokenizer.Model(model))
	if err != nil {
		return "", false
	}
	return codec.GetName(), true
}
