package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheStoryKeepsItsPromises(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil), &out)
	require.NotContains(t, out.String(), "BROKEN")
	require.Equal(t, 13, strings.Count(out.String(), "    kept"), out.String())
	require.Contains(t, out.String(), "-listen 127.0.0.1:8080")
}

// With an address it serves until it is stopped.
func TestThePageIsServedUntilItIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, w, []string{"-listen", "127.0.0.1:0"}) }()
	line := make([]byte, 200)
	n, err := r.Read(line)
	require.NoError(t, err)
	require.Regexp(t, `^playground: open http://127\.0\.0\.1:\d+/ in a browser`, string(line[:n]))
	stop()
	require.NoError(t, <-ended)
}
