// Package chat is a [provider.Provider] for servers that speak the API of
// OpenAI's chat completions. It is net/http and encoding/json, no client
// library: one call is one request, nothing is tried twice.
package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

// Config is a route to one model.
type Config struct {
	// Name is the route's: what attempts carry as their provider. Required.
	Name string
	// URL is the whole address of the endpoint, such as
	// https://api.example.com/v1/chat/completions. Required.
	URL string
	// Model is who is asked, and who must answer. Required.
	Model string
	// Aliases are other names under which this very model answers, such as its
	// dated name. An answer under any other name is discarded.
	Aliases []string
	// Authorize adds what the server wants to see, such as a bearer token. It
	// sees the request before each call.
	Authorize func(r *http.Request) error

	// System is the system prompt. Messages makes the messages that follow it of
	// the job's params; nil sends the params themselves as the user's message.
	System   string
	Messages func(params []byte) ([]provider.Message, error)
	// Revision names what Messages does, and is required beside it. Change it when
	// that changes, for the fingerprint cannot see functions.
	Revision string

	// MaxTokens is the room for the output, sent as max_completion_tokens
	// (LegacyMaxTokens: as max_tokens). Zero sends none.
	MaxTokens       int
	LegacyMaxTokens bool
	// Temperature is sent where it is not nil. Nil sends none, but 0 in
	// qualifying, unless the server refuses the parameter, as newer models do.
	Temperature *float64
	// ResponseFormat and Extra are further fields of the request, as the API has
	// them.
	ResponseFormat json.RawMessage
	Extra          map[string]any
	// FreshHeader is sent in qualifying, beside Cache-Control: no-store, to a
	// gateway that has another way to switch off its cache.
	FreshHeader http.Header

	// KeyHeader is the header that takes Attempt.ProviderKey. Set it only for a
	// server that promises to deduplicate by it. Empty sends no key.
	KeyHeader string
	// RefHeader is the response header with the server's handle of the call, kept
	// where no answer came whose id could be. Default: X-Request-Id.
	RefHeader string
	// RefusalFails makes a refusal, or a stop by the content filter, Failed: the
	// next target may run. Otherwise it is the answer, and the result is
	// {"refusal": "…"}.
	RefusalFails bool
	// BeforeWork are the statuses that the server sends only before it does any
	// work, beside those of package wire and 402, 405 and 415. A 400 is one by
	// itself only if it names the parameter that is wrong: some servers send 400
	// for what they have generated and then found to break the schema.
	BeforeWork []int

	// Tokenizer is the model's, for the check of the prompt; Window is how many
	// tokens prompt and output may have together.
	Tokenizer provider.Tokenizer
	Window    int
	// Client is what is sent through; nil is http.DefaultClient.
	Client *http.Client
}

// Provider calls one model. It is safe for use by many goroutines.
type Provider struct {
	c       Config
	route   provider.Route
	sender  wire.Sender
	hotOnly atomic.Bool // the server refuses the parameter temperature
}

// New checks the settings. Its error names the field.
func New(c Config) (*Provider, error) {
	u, err := url.Parse(c.URL)
	switch {
	case c.Name == "" || len(c.Name) > 63:
		return nil, errors.New("chat: Config.Name must have 1 to 63 bytes")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") == "":
		return nil, errors.New("chat: Config.URL must be the endpoint's whole http or https address, such as https://api.example.com/v1/chat/completions")
	case c.Model == "" || len(c.Model) > 255:
		return nil, errors.New("chat: Config.Model must have 1 to 255 bytes")
	case c.Messages != nil && c.Revision == "":
		return nil, errors.New("chat: Config.Revision is required beside Messages: what that does is else in no fingerprint")
	case c.MaxTokens < 0:
		return nil, errors.New("chat: Config.MaxTokens must not be negative")
	case c.Window < 0:
		return nil, errors.New("chat: Config.Window must not be negative")
	case c.Temperature != nil && (math.IsNaN(*c.Temperature) || math.IsInf(*c.Temperature, 0)):
		return nil, errors.New("chat: Config.Temperature must be a number")
	case c.ResponseFormat != nil && !json.Valid(c.ResponseFormat):
		return nil, errors.New("chat: Config.ResponseFormat must be JSON")
	}
	for _, field := range []string{"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens", "response_format"} {
		if _, ok := c.Extra[field]; ok {
			return nil, fmt.Errorf("chat: Config.Extra must not hold %q: it has a field of its own or is not for a caller to set", field)
		}
	}
	if c.RefHeader == "" {
		c.RefHeader = "X-Request-Id"
	}
	if err := c.own(); err != nil {
		return nil, err
	}
	revision, err := c.revision()
	if err != nil {
		return nil, err
	}
	return &Provider{
		c:     c,
		route: provider.Route{Name: c.Name, Model: c.Model, Revision: revision},
		sender: wire.Sender{Client: c.Client, BeforeWork: append([]int{http.StatusBadRequest, http.StatusPaymentRequired,
			http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType}, c.BeforeWork...)},
	}, nil
}

// own makes the settings this package's: what is proven must stay what is sent,
// also where the host goes on with its values.
func (c *Config) own() error {
	c.Aliases, c.ResponseFormat, c.FreshHeader = slices.Clone(c.Aliases), slices.Clone(c.ResponseFormat), c.FreshHeader.Clone()
	c.BeforeWork = slices.Clone(c.BeforeWork)
	if c.Temperature != nil {
		t := *c.Temperature
		c.Temperature = &t
	}
	c.Extra = maps.Clone(c.Extra)
	for name, value := range c.Extra {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("chat: Config.Extra[%q] cannot be written as JSON: %w", name, err)
		}
		c.Extra[name] = json.RawMessage(text)
	}
	return nil
}

// revision is a digest of all settings that may change an answer.
func (c *Config) revision() (string, error) {
	text, err := json.Marshal([]any{"chat/1", c.URL, c.Model, c.Aliases, c.System, c.Revision, c.Messages != nil, c.MaxTokens,
		c.LegacyMaxTokens, c.Temperature, c.ResponseFormat, c.Extra, c.FreshHeader, c.RefusalFails, c.Window})
	if err != nil {
		return "", fmt.Errorf("chat: the settings cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// Route implements [provider.Provider]. Its revision is a digest of the
// settings.
func (p *Provider) Route() provider.Route { return p.route }

// SendsKey implements [provider.KeySender]: it does where Config.KeyHeader is set.
func (p *Provider) SendsKey() bool { return p.c.KeyHeader != "" }

// Tokenizer implements [provider.Tokenizing].
func (p *Provider) Tokenizer() (provider.Tokenizer, int) { return p.c.Tokenizer, p.c.Window }

// Render implements [provider.Renderer].
func (p *Provider) Render(params []byte) (provider.Prompt, error) {
	var messages []provider.Message
	if p.c.System != "" {
		messages = append(messages, provider.Message{Role: "system", Content: p.c.System})
	}
	rest := []provider.Message{{Role: "user", Content: string(params)}}
	if p.c.Messages != nil {
		var err error
		if rest, err = p.c.Messages(params); err != nil {
			return provider.Prompt{}, err
		}
	}
	return provider.Prompt{Messages: append(messages, rest...), Room: p.c.MaxTokens}, nil
}

var (
	_ provider.Provider   = (*Provider)(nil)
	_ provider.Renderer   = (*Provider)(nil)
	_ provider.KeySender  = (*Provider)(nil)
	_ provider.Tokenizing = (*Provider)(nil)
)
