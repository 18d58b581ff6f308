package onejob_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
)

// readmeCode is the first block of Go in README.md that is of the package.
func readmeCode(t *testing.T, pkg string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "```go\npackage "+pkg+"\n")
	require.True(t, ok, "README.md has no package "+pkg)
	code, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	return "package main\n" + code
}

// The quick start must run as it stands, and a second run must call nobody and
// say the same.
func TestREADMEQuickStartRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "quickstart")
	require.NoError(t, os.WriteFile(source, []byte(readmeCode(t, "main")), 0o600))
	out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, first := range []string{"calling the provider\n", ""} {
		cmd := exec.Command(binary)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, first+"completed {\"charge\":\"ch_1\"}\n", string(out))
	}
}

// What opens PostgreSQL must do so as it stands.
func TestREADMEOpensPostgreSQL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"shop.go": readmeCode(t, "shop"), "main.go": `package main

import (
	"context"
	"os"

	"github.com/onejob-go/onejob"
)

func main() {
	if err := migrate(context.Background(), os.Args[1]); err != nil {
		panic(err)
	}
	jobs, err := open(os.Args[1] + "&statement_timeout=20000")
	if err != nil {
		panic(err)
	}
	if _, _, err := jobs.Create(context.Background(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"}); err != nil {
		panic(err)
	}
}
`}
	args := []string{"run"}
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		args = append(args, path)
	}
	out, err := exec.Command("go", append(args, dbtest.PostgresDSN(t))...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// The program on the page about failover builds as it stands.
func TestTheFailoverPageBuilds(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/failover.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "```go\npackage main\n")
	require.True(t, ok)
	code, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\n"+code), 0o600))
	out, err := exec.Command("go", "vet", source).CombinedOutput()
	require.NoError(t, err, string(out))
}
