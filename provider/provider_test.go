package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

// wrapped hides what p can but for its Unwrap.
type wrapped struct{ provider.Provider }

func (w wrapped) Unwrap() provider.Provider { return w.Provider }

// closed has no Unwrap: nothing is found in it.
type closed struct{ provider.Provider }

// asking can be asked by itself.
type asking struct{ provider.Provider }

func (asking) Resolve(context.Context, provider.Request) (provider.Reply, error) {
	return provider.Reply{Ref: "asking"}, nil
}

// sender says whether it sends keys.
type sender struct {
	wrapped
	sends bool
}

func (s sender) SendsKey() bool { return s.sends }

func sends(p provider.Provider) sender { return sender{wrapped{p}, true} }

// replays is Replays of a p that sends keys.
func replays(t *testing.T, p provider.Provider) provider.Provider {
	t.Helper()
	r, err := provider.Replays(p, time.Hour)
	require.NoError(t, err)
	return r
}

func TestAsFindsAnAbilityThroughWhatWraps(t *testing.T) {
	t.Parallel()
	c, err := chat.New(chat.Config{Name: "acme", URL: "http://127.0.0.1:1/v1", Model: "m", KeyHeader: "Idempotency-Key"})
	require.NoError(t, err)
	for name, row := range map[string]struct {
		p                 provider.Provider
		resolves, renders bool
	}{
		"itself":              {c, false, true},
		"wrapped":             {wrapped{c}, false, true},
		"wrapped twice":       {wrapped{wrapped{c}}, false, true},
		"replays":             {replays(t, c), true, true},
		"replays of wrapped":  {replays(t, wrapped{c}), true, true},
		"wrapped replays":     {wrapped{replays(t, c)}, true, true},
		"replays of replays":  {replays(t, replays(t, c)), true, true},
		"closed":              {closed{c}, false, false},
		"wrapped closed":      {wrapped{closed{c}}, false, false},
		"replays of closed":   {replays(t, sends(closed{c})), true, false},
		"asking":              {asking{c}, true, false},
		"wrapped asking":      {wrapped{asking{c}}, true, false},
		"what can do nothing": {&scripted{}, false, false},
		"wraps nothing":       {wrapped{}, false, false},
		"nothing":             {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver, ok := provider.As[provider.Resolver](row.p)
			require.Equal(t, row.resolves, ok)
			require.Equal(t, ok, resolver != nil)
			renderer, ok := provider.As[provider.Renderer](row.p)
			require.Equal(t, row.renders, ok)
			require.Equal(t, ok, renderer != nil)
			_, ok = provider.As[provider.Tokenizing](row.p)
			require.Equal(t, row.renders, ok)
			if row.p != nil {
				whole, ok := provider.As[provider.Provider](row.p)
				require.True(t, ok)
				require.Equal(t, row.p, whole, "the outermost is found first")
			}
		})
	}
}

// Replays is declared by the host: it comes before what is inside.
func TestTheOutermostAbilityCounts(t *testing.T) {
	t.Parallel()
	inner := &scripted{reply: provider.Reply{Verdict: provider.Done, Ref: "called"}}
	for want, p := range map[string]provider.Provider{
		"asking": wrapped{asking{replays(t, inner)}},
		"called": wrapped{replays(t, sends(asking{inner}))},
	} {
		resolver, ok := provider.As[provider.Resolver](p)
		require.True(t, ok)
		reply, err := resolver.Resolve(t.Context(), provider.Request{Attempt: began(0)})
		require.NoError(t, err)
		require.Equal(t, want, reply.Ref)
	}
}

func TestReplaysIsTheSameProvider(t *testing.T) {
	t.Parallel()
	inner := &scripted{reply: provider.Reply{Verdict: provider.NotStarted, Ref: "run-1"}}
	p := replays(t, inner)
	require.Equal(t, inner.Route(), p.Route())
	reply, err := p.Call(t.Context(), provider.Request{})
	require.NoError(t, err)
	require.Equal(t, inner.reply, reply, "a first call is no repeat")
}

func TestEachVerdictHasAName(t *testing.T) {
	t.Parallel()
	var zero provider.Verdict
	require.Equal(t, provider.Unknown, zero)
	require.Equal(t, provider.Unknown, provider.Reply{}.Verdict)
	for v, want := range map[provider.Verdict]string{
		provider.Unknown: "unknown", provider.Done: "done", provider.NotStarted: "not started", provider.Failed: "failed",
		-1: "unknown", 4: "unknown",
	} {
		require.Equal(t, want, v.String())
	}
}
