package upgrade_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a release promised it must keep on the tables of today: that is its own
// conformance kit, run by its own code.
func TestAnOldProgramKeepsItsContractOnTheNewestSchema(t *testing.T) {
	t.Parallel()
	onEachRelease(t, func(t *testing.T, r *release) {
		onBoth(t, func(t *testing.T, p place) {
			address := p.address
			if p.kind == "sqlite" {
				address = t.TempDir()
			}
			tables := filepath.Join(t.TempDir(), "tables.sql")
			require.NoError(t, os.WriteFile(tables, []byte(tablesNamed(t, p.named(t, kitNames))), 0o600))
			// Its tests wait more than they compute, so more of them run at once.
			cmd := exec.Command(r.program(t), "-test.run=^TestKit$", "-test.v", "-test.parallel=8", "-test.timeout=10m")
			cmd.Env = append(os.Environ(), "ONEJOB_UPGRADE_ADDRESS="+address,
				"ONEJOB_UPGRADE_TABLES="+tables, "ONEJOB_UPGRADE_NAMES="+kitNames)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, failures(string(out)))
			require.Greater(t, strings.Count(string(out), "--- PASS: TestKit/"), 150, "hardly anything was run")
		})
	})
}

// kitNames is replaced by each test of the kit with names of its own.
const kitNames = "names_of_a_test_"

// tablesNamed returns all the statements of the present schema.
func tablesNamed(t *testing.T, s migrating) string {
	t.Helper()
	files, err := fs.Glob(s.Migrations(), "migrate/*.up.sql")
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range files {
		text, err := fs.ReadFile(s.Migrations(), f)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// failures leaves out what passed.
func failures(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		trimmed := strings.TrimSpace(line)
		if !strings.HasPrefix(trimmed, "=== ") && !strings.HasPrefix(trimmed, "--- PASS") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[:min(len(kept), 200)], "")
}
