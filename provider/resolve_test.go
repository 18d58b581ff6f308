package provider_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// scripted says always the same, and remembers how it was called.
type scripted struct {
	reply provider.Reply
	err   error

	requests []provider.Request
	ends     []time.Time
}

func (p *scripted) Route() provider.Route {
	return provider.Route{Name: "acme", Model: "m", Revision: "1"}
}

func (p *scripted) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	end, _ := ctx.Deadline()
	p.requests, p.ends = append(p.requests, r), append(p.ends, end)
	return p.reply, p.err
}

func (p *scripted) SendsKey() bool { return true }

// resolve asks a Replays of p about an attempt that began that long ago.
func resolve(ctx context.Context, p provider.Provider, a onejob.Attempt, window time.Duration) (provider.Reply, error) {
	p, err := provider.Replays(p, window)
	if err != nil {
		return provider.Reply{}, err
	}
	r, ok := provider.As[provider.Resolver](p)
	if !ok {
		return provider.Reply{}, errors.New("it does not resolve")
	}
	return r.Resolve(ctx, provider.Request{Attempt: a})
}

func began(ago time.Duration) onejob.Attempt {
	return onejob.Attempt{ProviderKey: "key-1", StartedAt: time.Now().Add(-ago)}
}

func TestOfARepeatOnlyDoneAndFailedCount(t *testing.T) {
	t.Parallel()
	whole := provider.Reply{Output: []byte("ok"), Model: "m", Ref: "run-1", Cut: true, Refusal: true}
	with := func(v provider.Verdict) provider.Reply {
		r := whole
		r.Verdict = v
		return r
	}
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		reply provider.Reply
		err   error
		want  provider.Reply
	}{
		"done":                   {with(provider.Done), nil, with(provider.Done)},
		"failed":                 {with(provider.Failed), broken, with(provider.Failed)},
		"unknown":                {with(provider.Unknown), broken, with(provider.Unknown)},
		"nothing":                {provider.Reply{}, nil, provider.Reply{}},
		"not started":            {with(provider.NotStarted), broken, provider.Reply{Ref: "run-1"}},
		"not started, no error":  {with(provider.NotStarted), nil, provider.Reply{Ref: "run-1"}},
		"not started, no handle": {provider.Reply{Verdict: provider.NotStarted}, broken, provider.Reply{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &scripted{reply: row.reply, err: row.err}
			a := began(time.Minute)
			reply, err := resolve(t.Context(), p, a, time.Hour)
			require.Equal(t, row.want, reply)
			if row.err != nil {
				require.ErrorIs(t, err, row.err)
			}
			if row.reply.Verdict == provider.NotStarted {
				require.ErrorContains(t, err, "says nothing of the first")
			}
			require.Equal(t, []provider.Request{{Attempt: a}}, p.requests, "it is the same call, once")
		})
	}
}

// A repeat that the provider does not know any more is a second execution.
func TestNothingIsRepeatedOnceTheWindowIsOver(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		a      onejob.Attempt
		window time.Duration
	}{
		"long ago":         {began(2 * time.Hour), time.Hour},
		"just now":         {began(time.Hour), time.Hour},
		"a short window":   {began(time.Millisecond), 1},
		"no time of start": {onejob.Attempt{ProviderKey: "key-1"}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &scripted{reply: provider.Reply{Verdict: provider.Done}}
			reply, err := resolve(t.Context(), p, row.a, row.window)
			require.ErrorContains(t, err, "the time is over")
			require.Equal(t, provider.Reply{}, reply)
			require.Empty(t, p.requests)
		})
	}
}

// Without a key on the wire each repeat would be a second execution.
func TestReplaysIsForWhoSendsKeys(t *testing.T) {
	t.Parallel()
	const none, off, window = "says that it sends keys", "name the header", "window must be positive"
	p := &scripted{reply: provider.Reply{Verdict: provider.Done}}
	for name, row := range map[string]struct {
		p      provider.Provider
		window time.Duration
		want   string
	}{
		"it does":              {p, 1, ""},
		"what it wraps does":   {wrapped{wrapped{p}}, time.Hour, ""},
		"nobody says so":       {closed{p}, time.Hour, none},
		"nobody inside either": {wrapped{closed{p}}, time.Hour, none},
		"nothing":              {nil, time.Hour, none},
		"wraps nothing":        {wrapped{}, time.Hour, none},
		"it does not":          {sender{wrapped{closed{p}}, false}, time.Hour, off},
		"the outermost counts": {wrapped{sender{wrapped{p}, false}}, time.Hour, off},
		"no window":            {p, 0, window},
		"negative window":      {p, -time.Hour, window},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := provider.Replays(row.p, row.window)
			if row.want == "" {
				require.NoError(t, err)
				require.Equal(t, row.p.Route(), r.Route())
				return
			}
			require.ErrorContains(t, err, row.want)
			require.Nil(t, r)
		})
	}
}

func TestNothingIsRepeatedWithoutAKey(t *testing.T) {
	t.Parallel()
	p := &scripted{reply: provider.Reply{Verdict: provider.Done}}
	a := began(0)
	a.ProviderKey = ""
	reply, err := resolve(t.Context(), p, a, time.Hour)
	require.ErrorContains(t, err, "no key")
	require.Equal(t, provider.Reply{}, reply)
	require.Empty(t, p.requests)
}

// What waits for a connection must not leave after the window.
func TestARepeatEndsWithTheWindow(t *testing.T) {
	t.Parallel()
	a := began(time.Minute)
	end := a.StartedAt.Add(time.Hour)
	sooner, cancel := context.WithDeadline(t.Context(), end.Add(-time.Minute))
	defer cancel()
	later, cancel := context.WithDeadline(t.Context(), end.Add(time.Minute))
	defer cancel()
	p := &scripted{}
	for _, ctx := range []context.Context{t.Context(), later, sooner} {
		_, err := resolve(ctx, p, a, time.Hour)
		require.NoError(t, err)
	}
	require.Equal(t, []time.Time{end, end, end.Add(-time.Minute)}, p.ends)
}

// A server that keeps answers tells what became of a call that nobody heard of.
func TestARepeatTellsWhatBecameOfTheCall(t *testing.T) {
	t.Parallel()
	s, err := chattest.Serve()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.Replay()
	p, err := s.Provider("acme")
	require.NoError(t, err)
	request := provider.Request{Attempt: began(0)}
	request.Job.Params = []byte(`{"items":[{"name":"pen","cents":120,"count":3}]}`)
	resolver, ok := provider.As[provider.Resolver](replays(t, p))
	require.True(t, ok)

	s.Die()
	reply, err := p.Call(t.Context(), request)
	require.Error(t, err)
	require.Equal(t, provider.Unknown, reply.Verdict)
	s.Refuse(429)
	reply, err = resolver.Resolve(t.Context(), request)
	require.Error(t, err)
	require.Equal(t, provider.Unknown, reply.Verdict)
	s.Well()
	reply, err = resolver.Resolve(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, provider.Done, reply.Verdict)
	require.Contains(t, string(reply.Output), `"total":360`)
	require.Equal(t, 1, s.Executions())
	require.Len(t, s.Requests(), 3)
}
