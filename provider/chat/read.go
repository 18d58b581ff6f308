package chat

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onejob-go/onejob/provider"
)

// completion is the part of the answer that counts.
type completion struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content *string `json:"content"`
			Refusal *string `json:"refusal"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

var (
	errCompletion = errors.New("the answer is no chat completion that has ended")
	errContent    = errors.New("the answer has no content")
	errRefused    = errors.New("the model refused")
	errNameless   = errors.New("the answer does not say which model gave it")
)

// Read takes apart an answer that came in another way, such as one that a server
// keeps: for who adds a [provider.Resolver].
func (p *Provider) Read(body []byte) (provider.Reply, error) {
	return p.read(body, provider.Reply{Verdict: provider.Done})
}

// read takes the answer apart. What is no completion at all says nothing: it may
// come from something between us and the server, and gateways send 200 with an
// error for what timed out behind them. A completion that has ended without
// an output has failed, and will never have one.
func (p *Provider) read(body []byte, reply provider.Reply) (provider.Reply, error) {
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		// Also where a proxy ended the body early and in good order. The text of
		// the error may quote the body.
		return provider.Reply{Verdict: provider.Unknown, Ref: reply.Ref}, errCompletion
	}
	if id := ref(c.ID); id != "" {
		reply.Ref = id // a cache that answers under a new request ID repeats this one
	}
	failed := provider.Reply{Verdict: provider.Failed, Ref: reply.Ref, Model: c.Model}
	if len(c.Choices) != 1 || c.Choices[0].FinishReason == "" {
		// It is being worked on, or it is something else.
		return provider.Reply{Verdict: provider.Unknown, Ref: reply.Ref}, errCompletion
	}
	if c.Model == "" {
		return failed, errNameless
	}
	reply.Model = c.Model
	if slices.Contains(p.c.Aliases, c.Model) {
		reply.Model = p.c.Model
	}
	choice := c.Choices[0]
	refusal := choice.Message.Refusal
	if refusal != nil && *refusal != "" || choice.FinishReason == "content_filter" {
		if p.c.RefusalFails {
			return failed, errRefused
		}
		text := ""
		if refusal != nil {
			text = *refusal
		}
		out, err := json.Marshal(map[string]string{"refusal": text})
		reply.Output, reply.Refusal = out, true
		return reply, err
	}
	if choice.Message.Content == nil {
		return failed, errContent
	}
	reply.Output, reply.Cut = []byte(*choice.Message.Content), choice.FinishReason == "length"
	return reply, nil
}

// ref is the server's handle where it can be kept: the rest of a longer one
// would name nothing.
func ref(s string) string {
	if len(s) > 255 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

// refusedParam is the parameter that an error of the API names.
func refusedParam(body []byte) string {
	var e struct {
		Error struct {
			Param *string `json:"param"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Param == nil {
		return ""
	}
	return *e.Error.Param
}
