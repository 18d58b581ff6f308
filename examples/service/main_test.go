package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTourKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil), &out)
	require.NotContains(t, out.String(), "BROKEN")
	require.Equal(t, 12, strings.Count(out.String(), "    kept"), out.String())
}
