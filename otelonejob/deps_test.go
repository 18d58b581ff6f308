package otelonejob_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The SDK, exporters and what they bring are for the host to choose.
func TestHostsLinkTheAPIOfOpenTelemetryAlone(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	allowed := regexp.MustCompile(`^(github\.com/onejob-go/onejob(/otelonejob|/schema)?|github\.com/google/uuid|github\.com/jmoiron/sqlx(/reflectx)?|` +
		`github\.com/cespare/xxhash/v2|github\.com/go-logr/(logr|stdr)(/.*)?|go\.opentelemetry\.io/auto/sdk(/.*)?|` +
		`go\.opentelemetry\.io/otel(/(attribute|baggage|codes|internal|log|metric|propagation|semconv|trace)(/.*)?)?)$`)
	list := strings.Fields(string(out))
	require.Contains(t, list, "go.opentelemetry.io/otel/trace")
	for _, path := range list {
		require.Regexp(t, allowed, path)
	}
}
