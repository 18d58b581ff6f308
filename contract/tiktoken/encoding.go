package tiktoken

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// encoding is a vocabulary and how text is split before it is used. It is never
// changed once it is loaded.
type encoding struct {
	name   string
	split  *regexp.Regexp
	texts  []string       // by token; empty: there is no such token
	tokens map[string]int // by text
}

// encodings are loaded when they are first asked for, and once.
var encodings = func() map[string]func() (*encoding, error) {
	once := func(name tokenizer.Encoding, size int, split string) func() (*encoding, error) {
		return sync.OnceValues(func() (*encoding, error) { return load(name, size, split) })
	}
	r50k := once(tokenizer.R50kBase, 50256, splitR50k)
	p50k := once(tokenizer.P50kBase, 50280, splitR50k)
	cl100k := once(tokenizer.Cl100kBase, 100256, splitCl100k)
	o200k := once(tokenizer.O200kBase, 199998, splitO200k)
	return map[string]func() (*encoding, error){
		"gpt2": r50k, "r50k_base": r50k,
		"p50k_base": p50k, "p50k_edit": p50k,
		"cl100k_base": cl100k,
		"o200k_base":  o200k, "o200k_harmony": o200k,
	}
}()

// load takes the vocabulary out of the library. Special tokens are not in it, so
// no text can become one.
func load(name tokenizer.Encoding, size int, split string) (*encoding, error) {
	codec, err := tokenizer.Get(name)
	if err != nil {
		return nil, fmt.Errorf("tiktoken: encoding %s: %w", name, err)
	}
	// One number may be left out: p50k_base has none where its special token is.
	e := &encoding{name: string(name), split: regexp.MustCompile(split), texts: make([]string, size+1), tokens: make(map[string]int, size)}
	for token := range e.texts {
		text, err := codec.Decode([]uint{uint(token)})
		if err != nil {
			continue
		}
		e.texts[token], e.tokens[text] = text, token
	}
	if len(e.tokens) != size {
		return nil, fmt.Errorf("tiktoken: encoding %s: the library has %d tokens, not %d: use its version that this module requires", name, len(e.tokens), size)
	}
	return e, nil
}

var errNotUTF8 = errors.New("tiktoken: the text is not UTF-8: no API takes it as it is")

// Encode implements [provider.Tokenizer]. It refuses what is not UTF-8.
func (e *encoding) Encode(text string) ([]int, error) {
	if !utf8.ValidString(text) {
		return nil, errNotUTF8
	}
	var tokens []int
	for text != "" {
		n := e.piece(text)
		tokens = e.merge(tokens, text[:n])
		text = text[n:]
	}
	return tokens, nil
}

// Decode implements [provider.Tokenizer]. Tokens that end within a character
// give a part of its bytes.
func (e *encoding) Decode(tokens []int) (string, error) {
	var b strings.Builder
	for _, token := range tokens {
		if token < 0 || token >= len(e.texts) || e.texts[token] == "" {
			return "", fmt.Errorf("tiktoken: %s has no token %d for text", e.name, token)
		}
		b.WriteString(e.texts[token])
	}
	return b.String(), nil
}
