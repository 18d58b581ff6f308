package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheRaceIsTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil), &out)
	for _, line := range []string{
		"completed by quick", "kept  the second to answer loses", `attempt 1  fast      late, by race of the order service: "it has said nothing`,
		"a late result of 59 bytes was dropped", "completed by fast", "attempt 2  quick     late",
	} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "BROKEN")
}
