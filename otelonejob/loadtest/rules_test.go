package loadtest

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const rulesFile = "../alerts/onejob.rules.yaml"

func TestTheRulesLoadAndFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", "../alerts/onejob.rules_test.yaml"}} {
		out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, "missing? run ./ensure")
	}
}
