package onejobtest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A host's tests get the SQLite driver and nothing else: which assertions to
// write them with is the host's choice.
func TestHostsTestsGetNoTestKitAlong(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "github.com/onejob-go/onejob/onejobtest").CombinedOutput()
	require.NoError(t, err, string(out))
	list := strings.Fields(string(out))
	require.Contains(t, list, "modernc.org/sqlite", "a list of something else")
	for _, pkg := range list {
		for _, refused := range []string{"stretchr/testify", "davecgh", "pmezard", "lib/pq", "onejob/internal/dbtest", "onejob/storetest"} {
			require.NotContains(t, pkg, refused)
		}
	}
}
