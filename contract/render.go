package contract

import (
	"errors"
	"strings"

	"github.com/onejob-go/onejob/provider"
)

// Prompt is what the look at the rendered prompts found.
type Prompt struct {
	// Rendered says that the provider can show its prompts, Counted that its
	// tokenizer was at hand. What is false was not looked at.
	Rendered bool `json:"rendered"`
	// Wrong says that the prompts are, so that nobody was called.
	Wrong   bool `json:"wrong,omitempty"`
	Counted bool `json:"counted"`
	// Tokens is the largest prompt of the cases, Room what the output may take
	// (zero: no limit is set, and the window is compared with the prompt alone),
	// Window what both may have together (zero: it is not known).
	Tokens int `json:"tokens,omitempty"`
	Room   int `json:"room,omitempty"`
	Window int `json:"window,omitempty"`
}

// The most that the chat format adds to a message, and to all of them, as
// OpenAI's cookbook counts it.
const (
	tokensPerMessage = 4
	tokensPerPrompt  = 3
)

var errUnseen = errors.New("the contract has markers, and the provider cannot show its prompts: it is no Renderer, or a wrapper without Unwrap")

// prompts looks at what would be sent, before anything is.
func (c *Contract) prompts(p provider.Provider) (found Prompt, failures []Failure) {
	renderer, ok := provider.As[provider.Renderer](p)
	if !ok {
		if len(c.spec.Markers) > 0 {
			failures = append(failures, Failure{Reason: ReasonRender, Detail: errUnseen.Error()})
		}
		return found, failures
	}
	found.Rendered = true
	var tokens provider.Tokenizer
	if t, ok := provider.As[provider.Tokenizing](p); ok {
		tokens, found.Window = t.Tokenizer()
	}
	if tokens != nil {
		found.Counted = true
		if detail := eats(tokens); detail != "" {
			failures = append(failures, Failure{Reason: ReasonSpecialToken, Detail: detail})
		}
	}
	for _, one := range c.spec.Cases {
		prompt, err := renderer.Render(one.Params)
		if err != nil {
			failures = append(failures, Failure{Reason: ReasonRender, Case: one.Name, Detail: excerpt(err.Error())})
			continue
		}
		for _, m := range c.spec.Markers {
			if !holds(prompt, m) {
				failures = append(failures, Failure{Reason: ReasonMarker, Case: one.Name, Detail: "role " + m.Role + ": " + excerpt(m.Text)})
			}
		}
		if tokens == nil {
			continue
		}
		n, same := count(tokens, prompt)
		if !same {
			failures = append(failures, Failure{Reason: ReasonTokenizer, Case: one.Name})
			continue
		}
		found.Tokens, found.Room = max(found.Tokens, n), max(found.Room, prompt.Room)
		if found.Window > 0 && n+prompt.Room > found.Window {
			failures = append(failures, Failure{Reason: ReasonWindow, Case: one.Name})
		}
	}
	return found, failures
}

func holds(p provider.Prompt, m Marker) bool {
	for _, message := range p.Messages {
		if message.Role == m.Role && strings.Contains(message.Content, m.Text) {
			return true
		}
	}
	return false
}

// count also reports whether decoding gives each message back.
func count(t provider.Tokenizer, p provider.Prompt) (n int, same bool) {
	n = tokensPerPrompt
	for _, message := range p.Messages {
		tokens, err := t.Encode(message.Content)
		if err != nil {
			return 0, false
		}
		if text, err := t.Decode(tokens); err != nil || text != message.Content {
			return 0, false
		}
		n += tokensPerMessage + len(tokens)
	}
	return n, true
}

// specials are literals of special tokens of the common families. As text each
// takes several tokens.
var specials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "[INST]", "<end_of_turn>"}

// eats tells which literal does not stay text.
func eats(t provider.Tokenizer) string {
	for _, literal := range specials {
		text := "a " + literal + " b"
		with, err := t.Encode(text)
		if err != nil {
			return literal + " is refused"
		}
		if back, err := t.Decode(with); err != nil || back != text {
			return literal + " is lost"
		}
		without, err := t.Encode("a  b")
		if err == nil && len(with) < len(without)+2 {
			return literal + " is one token"
		}
	}
	return ""
}
