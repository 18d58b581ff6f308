package tiktoken_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract/tiktoken"
	"github.com/onejob-go/onejob/provider/chat"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func TestQualifyingCountsWithIt(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gpt-4o", "gpt-4", "gpt2"} {
		s, err := chattest.Serve()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		c := s.Config("acme")
		c.Window = 8192
		c.Tokenizer, err = tiktoken.ForModel(model)
		require.NoError(t, err)
		p, err := chat.New(c)
		require.NoError(t, err)
		sum, err := chattest.Contract()
		require.NoError(t, err)
		r, err := sum.Qualify(t.Context(), p, nil)
		require.NoError(t, err)
		require.True(t, r.Passed(), "%s", r)
		require.True(t, r.Prompt.Counted)
		require.Equal(t, 8192, r.Prompt.Window)
		// A token for each byte would be some 350.
		require.Greater(t, r.Prompt.Tokens, 60)
		require.Less(t, r.Prompt.Tokens, 200)
	}
}
