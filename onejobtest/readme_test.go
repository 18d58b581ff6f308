package onejobtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the README shows of a host's test must pass as it stands.
func TestREADMEHostTestRuns(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "```go\npackage shop_test\n")
	require.True(t, ok, "README.md has no test of a host's")
	code, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	source := filepath.Join(t.TempDir(), "shop_test.go")
	require.NoError(t, os.WriteFile(source, []byte("package shop_test\n"+code), 0o600))
	out, err := exec.Command("go", "test", "-count=1", "-v", source).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: Test")
}
