// Package tiktoken gives the tokenizers of OpenAI's models, so that a contract's
// qualification can count what a prompt takes of the window.
//
// It is a module of its own because the vocabularies are compiled in: a binary
// grows by 11.7 MB, and who does not count tokens shall not carry them. An
// encoding is loaded by its first use, which takes some 0.1 s and up to 21 MB of
// memory for good. Nothing is downloaded.
//
// Only the vocabularies are those of github.com/tiktoken-go/tokenizer. Its Encode
// loses each U+007F and makes too many tokens of blank lines (versions 0.8.1 to
// 0.10.0), so the text is split and merged here.
package tiktoken

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onejob-go/onejob/provider"
)

// ForModel gives the tokenizer of a model of OpenAI's by its name in the API, as
// OpenAI's own tiktoken maps names. Dated names and those of fine-tuned models
// ("ft:…") are known too. For a model that is not known, or that a gateway has
// given a name of its own, use [Encoding].
//
// The tokenizer is safe for use by many goroutines.
func ForModel(model string) (provider.Tokenizer, error) {
	name, ok := encodingOf(model)
	if !ok {
		return nil, fmt.Errorf("tiktoken: model %q is not known: use Encoding with the name of the encoding that the model's vendor documents", model)
	}
	return Encoding(name)
}

// Encoding gives the tokenizer of an encoding by OpenAI's name for it, such as
// "o200k_base" or "cl100k_base". It takes special tokens for text; so encodings
// that differ in nothing else, such as "o200k_base" and "o200k_harmony", have one
// tokenizer.
//
// The tokenizer is safe for use by many goroutines.
func Encoding(name string) (provider.Tokenizer, error) {
	load, ok := encodings[name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(encodings)), ", ")
		return nil, fmt.Errorf("tiktoken: encoding %q is not known: use the name that the model's vendor documents, if it is one of %s", name, known)
	}
	e, err := load()
	if err != nil {
		return nil, err
	}
	return e, nil
}
