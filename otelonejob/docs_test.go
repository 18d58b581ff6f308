package otelonejob_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = "../docs/telemetry.md"

// The blocks of the page are packages of this module that are on no disk.
func TestTheCodeOnThePageBuilds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json")}
	for n, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		file := filepath.Join(dir, fmt.Sprint(n, ".go"))
		require.NoError(t, os.WriteFile(file, []byte(block[1]), 0o600))
		overlay.Replace[filepath.Join(here, "page", fmt.Sprint(n), "main.go")] = file
		args = append(args, fmt.Sprint("./page/", n))
	}
	require.Len(t, overlay.Replace, 2)
	list, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Who is woken by an alert looks up its metrics on the page.
func TestThePageHasEveryMetricAndAlert(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	rules, err := os.ReadFile("alerts/onejob.rules.yaml")
	require.NoError(t, err)
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		require.Contains(t, string(text), "| "+alert[1]+" |")
	}
	for _, file := range []string{"instruments.go", "watch.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		names := regexp.MustCompile(`"(onejob\.[a-z_.]+)"`).FindAllStringSubmatch(string(source), -1)
		require.NotEmpty(t, names)
		for _, name := range names {
			require.Contains(t, string(text), "`"+name[1]+"`")
		}
	}
	for _, link := range regexp.MustCompile(`operations\.md#([a-z-]+)`).FindAllStringSubmatch(string(rules), -1) {
		require.Contains(t, string(text), "(operations.md#"+link[1]+")")
	}
	require.False(t, strings.Contains(string(text), "COSTS"))
}
