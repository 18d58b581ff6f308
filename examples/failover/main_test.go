package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func told(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, args), &out)
	require.NotContains(t, out.String(), "BROKEN")
	return out.String()
}

func TestTheHonestFallbackWins(t *testing.T) {
	t.Parallel()
	out := told(t)
	for _, line := range []string{
		"qualified: fallback", "kept  a timeout is a doubt", "about primary; calls: primary 1, fallback 0",
		"completed by fallback", "kept  the late answer was dropped", "a late result of 59 bytes was dropped",
		"kept  what the primary did is the result",
	} {
		require.Contains(t, out, line)
	}
}

func TestALiarIsNeverCalled(t *testing.T) {
	t.Parallel()
	for _, lie := range chattest.Lies() {
		t.Run(lie.Name, func(t *testing.T) {
			t.Parallel()
			out := told(t, "-lie", lie.Name)
			require.Contains(t, out, "NOT qualified: fallback")
			require.Contains(t, out, string(lie.Reason))
			require.Contains(t, out, "kept  a liar is refused before a single live call: fallback calls 0")
			require.NotContains(t, out, "completed by fallback")
		})
	}
	require.Error(t, run(t.Context(), new(bytes.Buffer), []string{"-lie", "nobody"}))
}
