package contract_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/onejobtest"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// fake changes what an honest provider does, every tenth time.
type fake struct {
	provider.Provider
	calls *atomic.Int32
	twist func(ctx context.Context, r provider.Request) (provider.Reply, error)
}

func (f fake) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	if f.calls.Add(1)%10 == 0 {
		return f.twist(ctx, r)
	}
	return f.Provider.Call(ctx, r)
}

func (f fake) Unwrap() provider.Provider { return f.Provider }

// One call of which nobody knows what came of it fails a provider, and so does
// anything else but an answer.
func TestOneCallWithoutAnAnswerFailsAProvider(t *testing.T) {
	t.Parallel()
	for want, twist := range map[contract.Reason]func(ctx context.Context, r provider.Request) (provider.Reply, error){
		contract.ReasonUnknown: func(context.Context, provider.Request) (provider.Reply, error) {
			return provider.Reply{Output: []byte("{}")}, errors.New("reset")
		},
		contract.ReasonNotStarted: func(context.Context, provider.Request) (provider.Reply, error) {
			return provider.Reply{Verdict: provider.NotStarted}, nil
		},
		contract.ReasonFailed: func(context.Context, provider.Request) (provider.Reply, error) {
			return provider.Reply{Verdict: provider.Failed}, nil
		},
		contract.ReasonRefused: func(context.Context, provider.Request) (provider.Reply, error) {
			return provider.Reply{Verdict: provider.Done, Refusal: true}, nil
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			_, p := serve(t, "")
			r, err := orderSum(t).Qualify(t.Context(), fake{p, new(atomic.Int32), twist}, nil)
			require.NoError(t, err)
			require.False(t, r.Passed())
			require.Equal(t, []contract.Reason{want}, r.Reasons())
			require.Equal(t, 18, r.Passes)
		})
	}
}

func TestADeafAndAPanickingProviderFail(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, twist := range map[string]func(ctx context.Context, r provider.Request) (provider.Reply, error){
		"deaf": func(context.Context, provider.Request) (provider.Reply, error) {
			<-release
			return provider.Reply{}, nil
		},
		"panics": func(context.Context, provider.Request) (provider.Reply, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			_, p := serve(t, "")
			r, err := orderSum(t).Qualify(t.Context(), fake{p, new(atomic.Int32), twist},
				&contract.QualifyOptions{Timeout: 500 * time.Millisecond, Parallel: 8})
			require.NoError(t, err)
			require.Contains(t, r.Reasons(), contract.ReasonUnknown)
		})
	}
}

// What was cut off by the caller proves nothing, and cannot be saved as if it did.
func TestQualifyingThatIsStoppedProvesNothing(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "")
	env := onejobtest.New(t, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	r, err := orderSum(t).Qualify(ctx, p, &contract.QualifyOptions{Progress: func(now contract.Progress) {
		if now.Runs == 7 {
			stop(enough)
		}
	}})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 7, r.Runs)
	require.Equal(t, 7, r.Passes)
	require.False(t, r.Passed())
	_, err = contract.Save(t.Context(), env.Operator, r)
	require.ErrorIs(t, err, contract.ErrIncomplete)
	_, err = contract.Save(t.Context(), env.Operator, contract.Report{})
	require.ErrorIs(t, err, contract.ErrIncomplete)
}

// The prompt is looked at before anything is called: each of these calls nobody.
func TestAWrongPromptCallsNobody(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[contract.Reason]func(c *chat.Config){
		contract.ReasonMarker: func(c *chat.Config) { c.System = "Add up the items." },
		contract.ReasonRender: func(c *chat.Config) {
			c.Revision = "1"
			c.Messages = func([]byte) ([]provider.Message, error) { return nil, errors.New("no template") }
		},
		contract.ReasonTokenizer:    func(c *chat.Config) { c.Tokenizer = lossy{} },
		contract.ReasonSpecialToken: func(c *chat.Config) { c.Tokenizer = chattest.Tokenizer{Eats: true} },
		contract.ReasonWindow:       func(c *chat.Config) { c.Window = 595 },
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			s, _ := serve(t, "")
			config := s.Config("acme")
			spoil(&config)
			p, err := chat.New(config)
			require.NoError(t, err)
			r, err := orderSum(t).Qualify(t.Context(), p, nil)
			require.NoError(t, err)
			require.False(t, r.Passed())
			require.Contains(t, r.Reasons(), want)
			require.Empty(t, s.Requests())
			require.True(t, r.Prompt.Wrong)
			require.Zero(t, r.Runs)
			require.Contains(t, r.String(), "nobody was called")
		})
	}
}

// A marker in the user's message is not one in the system's.
func TestAMarkerMustBeInItsRole(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, "")
	config := s.Config("acme")
	config.System = "Add up."
	config.Revision = "1"
	config.Messages = func(params []byte) ([]provider.Message, error) {
		return []provider.Message{{Role: "user", Content: "cents"}, {Role: "user", Content: string(params)}}, nil
	}
	p, err := chat.New(config)
	require.NoError(t, err)
	r, err := orderSum(t).Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	require.Equal(t, []contract.Reason{contract.ReasonMarker}, r.Reasons())
}

// lossy folds case, as some tokenizers do.
type lossy struct{ chattest.Tokenizer }

func (l lossy) Encode(text string) ([]int, error) { return l.Tokenizer.Encode(strings.ToLower(text)) }

// A provider that cannot show its prompt cannot show that the markers are in it.
func TestMarkersNeedAPromptThatCanBeSeen(t *testing.T) {
	t.Parallel()
	s, p := serve(t, "")
	r, err := orderSum(t).Qualify(t.Context(), blind{p}, nil)
	require.NoError(t, err)
	require.Equal(t, []contract.Reason{contract.ReasonRender}, r.Reasons())
	require.Empty(t, s.Requests())

	spec := chattest.Spec()
	spec.Markers = nil
	c, err := contract.New(spec)
	require.NoError(t, err)
	r, err = c.Qualify(t.Context(), blind{p}, nil)
	require.NoError(t, err)
	require.True(t, r.Passed(), "%s", r)
	require.Contains(t, r.String(), "not looked at")
}

type blind struct{ p provider.Provider }

func (b blind) Route() provider.Route { return b.p.Route() }
func (b blind) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	return b.p.Call(ctx, r)
}

// Qualifying calls as production does, past caches, each time with a key of its
// own.
func TestQualifyingAsksForFreshAnswers(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "")
	seen := map[string]bool{}
	route := fake{p, new(atomic.Int32), func(ctx context.Context, r provider.Request) (provider.Reply, error) { return p.Call(ctx, r) }}
	r, err := orderSum(t).Qualify(t.Context(), spying{route, func(r provider.Request) {
		require.True(t, r.Fresh)
		require.NotEmpty(t, r.Attempt.ProviderKey)
		require.False(t, seen[r.Attempt.ProviderKey])
		seen[r.Attempt.ProviderKey] = true
		require.NoError(t, r.Handle(t.Context(), "ref"))
	}}, nil)
	require.NoError(t, err)
	require.True(t, r.Passed(), "%s", r)
	require.Len(t, seen, 20)
}

type spying struct {
	provider.Provider
	saw func(r provider.Request)
}

func (s spying) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	s.saw(r)
	return s.Provider.Call(ctx, r)
}

func (s spying) Unwrap() provider.Provider { return s.Provider }

// What was saved opens the gate for this very route and contract, until it is
// revoked; a failing run that comes later closes it.
func TestASavedReportOpensTheGate(t *testing.T) {
	t.Parallel()
	s, p := serve(t, "")
	c := orderSum(t)
	env := onejobtest.New(t, nil)
	r, err := c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	q, err := contract.Save(t.Context(), env.Operator, r)
	require.NoError(t, err)
	require.Equal(t, c.Requirement(p.Route()), q.Requirement)
	require.InDelta(t, 24*time.Hour, q.ExpiresAt.Sub(q.QualifiedAt), float64(time.Minute))
	require.Contains(t, string(q.Evidence), `"failure_rate_bound":0.13`)
	s.Lie("adds-key")
	r, err = c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	q, err = contract.Save(t.Context(), env.Operator, r)
	require.NoError(t, err)
	require.Zero(t, q.Passes)
}

func TestARouteMustBeOneThatAttemptsCanCarry(t *testing.T) {
	t.Parallel()
	for _, route := range []provider.Route{{Model: "m"}, {Name: "n"}, {Name: strings.Repeat("n", 64), Model: "m"}} {
		_, err := orderSum(t).Qualify(t.Context(), routed{route}, nil)
		require.ErrorContains(t, err, "Route.")
	}
}

type routed struct{ route provider.Route }

func (r routed) Route() provider.Route { return r.route }
func (routed) Call(context.Context, provider.Request) (provider.Reply, error) {
	panic("nobody is called")
}
