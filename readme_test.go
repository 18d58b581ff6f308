package onejob_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The quick start must run as it stands, and a second run must call nobody and
// say the same.
func TestREADMEQuickStartRuns(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "```go\npackage main\n")
	require.True(t, ok, "README.md has no quick start")
	code, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)

	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "quickstart")
	require.NoError(t, os.WriteFile(source, []byte("package main\n"+code), 0o600))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, string(out))
	for range 2 {
		cmd := exec.Command(binary)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, "completed {\"charge\":\"ch_1\"}\n", string(out))
	}
}
