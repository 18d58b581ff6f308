package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLateResultIsThrownAwayAndTheLoserIsTold(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil), &out)
	for _, line := range []string{
		"kept  the loser is told: ErrLateResult\n",
		"kept  and to whom it lost: attempt 2 by fallback, with the result \"" + goodPayload + "\"\n",
		"kept  one result: the job was completed once (version 2)\n",
		"kept  a canceled attempt cannot win: ErrLateResult, and the job is running\n",
		" is late\n",
		" is canceled\n",
		"size 50 bytes, SHA-256 ",
		"onejob.db-wal  is gone\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "BROKEN")
	require.Equal(t, 2, strings.Count(out.String(), "kept  the late payload is nowhere"), "open and closed")
	require.Less(t, strings.Index(out.String(), "primary     leaves"), strings.Index(out.String(), "fallback    leaves"))
	require.Less(t, strings.Index(out.String(), "fallback    returns"), strings.Index(out.String(), "primary     returns"))
}
