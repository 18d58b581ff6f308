package contract_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/provider"
)

// handled changes the handle of an honest provider's replies.
type handled struct {
	provider.Provider
	ref func(r provider.Request) string
}

func (h handled) Call(ctx context.Context, r provider.Request) (provider.Reply, error) {
	reply, err := h.Provider.Call(ctx, r)
	reply.Ref = h.ref(r)
	return reply, err
}

func (h handled) Unwrap() provider.Provider { return h.Provider }

// Honest servers make handles of three random digits, of the second, of nothing.
func TestHandlesThatRepeatByChanceAreNoCache(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	for name, ref := range map[string]func(r provider.Request) string{
		"few digits":  func(provider.Request) string { return fmt.Sprint("chatcmpl-", rand.IntN(30)) },
		"the second":  func(provider.Request) string { return fmt.Sprint(time.Now().Unix()) },
		"one for all": func(provider.Request) string { return "id" },
		"none":        func(provider.Request) string { return "" },
		"its own":     func(provider.Request) string { return fmt.Sprint(n.Add(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := orderSum(t)
			for range 20 {
				_, p := serve(t, "")
				r, err := c.Qualify(t.Context(), handled{p, ref}, nil)
				require.NoError(t, err)
				require.True(t, r.Passed(), "%s", r)
			}
		})
	}
	_, p := serve(t, "")
	r, err := orderSum(t).Qualify(t.Context(), handled{p, func(r provider.Request) string { return string(r.Job.Params) }}, nil)
	require.NoError(t, err)
	require.Equal(t, []contract.Reason{contract.ReasonCached}, r.Reasons())
	require.Equal(t, 4, r.Passes)
}
