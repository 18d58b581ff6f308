package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

var (
	errRender    = errors.New("the messages could not be made of the params")
	errAuthorize = errors.New("Config.Authorize refused")
	errRequest   = errors.New("the request could not be made")
)

// Call implements [provider.Provider]. A refusal by the server with one of the
// statuses that come before any work is NotStarted (see Config.BeforeWork about
// 400); what cannot be sent at all is too.
//
// In qualifying a server that refuses the parameter temperature is asked once
// more without it: nothing else makes two requests of one call.
func (p *Provider) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	steady := r.Fresh && p.c.Temperature == nil && !p.hotOnly.Load()
	reply, refused, err := p.once(ctx, r, steady)
	if steady && refused == "temperature" {
		p.hotOnly.Store(true)
		if r.Attempt.ProviderKey != "" {
			r.Attempt.ProviderKey += "-" // another request: who deduplicates must not answer with the refusal
		}
		reply, _, err = p.once(ctx, r, false)
	}
	return reply, err
}

// once also returns the parameter that the server has refused.
func (p *Provider) once(ctx context.Context, r provider.Request, steady bool) (provider.Reply, string, error) {
	req, err := p.request(ctx, r, steady)
	if err != nil {
		return provider.Reply{Verdict: provider.NotStarted}, "", err
	}
	answer, verdict, err := p.sender.Send(req)
	reply := provider.Reply{Verdict: verdict, Ref: ref(answer.Header.Get(p.c.RefHeader))}
	if err != nil {
		param := ""
		var status *wire.StatusError
		if verdict == provider.NotStarted && errors.As(err, &status) {
			param = refusedParam(answer.Body)
			if status.Status == http.StatusBadRequest && param == "" && !slices.Contains(p.c.BeforeWork, http.StatusBadRequest) {
				reply.Verdict = provider.Unknown
			}
		}
		return reply, param, err
	}
	if answer.Status != http.StatusOK {
		// Such as 202: it is being worked on, under the handle that the body has.
		reply, _ = p.read(answer.Body, reply)
		return provider.Reply{Ref: reply.Ref}, "", errCompletion
	}
	reply, err = p.read(answer.Body, reply)
	return reply, "", err
}

func (p *Provider) request(ctx context.Context, r provider.Request, steady bool) (*http.Request, error) {
	prompt, err := p.Render(r.Job.Params)
	if err != nil {
		return nil, errRender // the host's error may quote the params
	}
	body := map[string]any{}
	for name, value := range p.c.Extra {
		body[name] = value
	}
	body["model"], body["messages"] = p.c.Model, prompt.Messages
	switch {
	case p.c.MaxTokens > 0 && p.c.LegacyMaxTokens:
		body["max_tokens"] = p.c.MaxTokens
	case p.c.MaxTokens > 0:
		body["max_completion_tokens"] = p.c.MaxTokens
	}
	switch {
	case p.c.Temperature != nil:
		body["temperature"] = *p.c.Temperature
	case steady:
		body["temperature"] = 0
	}
	if p.c.ResponseFormat != nil {
		body["response_format"] = p.c.ResponseFormat
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, errRequest
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.c.URL, bytes.NewReader(text))
	if err != nil {
		return nil, errRequest
	}
	if r.Fresh {
		for name, values := range p.c.FreshHeader {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
		req.Header.Set("Cache-Control", "no-store")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if p.c.KeyHeader != "" && r.Attempt.ProviderKey != "" {
		req.Header.Set(p.c.KeyHeader, r.Attempt.ProviderKey)
	}
	if p.c.Authorize != nil {
		if err := p.c.Authorize(req); err != nil {
			return nil, errAuthorize // its text may hold the token
		}
	}
	return req, nil
}
