package onejob_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ourModule is what hosts import.
const ourModule = "github.com/onejob-go/onejob"

// dependency is what `go list` tells of a package that ends up in a host's
// binary.
type dependency struct {
	ImportPath string
	Standard   bool
	Module     *struct{ Path string }
}

func dependencies(t *testing.T, pkg string) []dependency {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Module", pkg)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var list []dependency
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var d dependency
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return list
		} else {
			require.NoError(t, err)
		}
		list = append(list, d)
	}
}

// A host links its own driver and no other: a second one is megabytes, and
// eight more modules to audit. Test kits do not belong into binaries at all,
// and a library without HTTP must not bring an HTTP server along.
func TestHostsLinkNothingTheyDidNotAskFor(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"github.com/google/uuid":           true,
		"github.com/jmoiron/sqlx":          true,
		"github.com/jmoiron/sqlx/reflectx": true,
	}
	refused := []string{"testing", "net/http", "net/http/httptest", "os/exec", "plugin", "flag"}
	list := dependencies(t, ourModule)
	seen := map[string]bool{}
	for _, d := range list {
		seen[d.ImportPath] = true
		require.NotContains(t, refused, d.ImportPath)
		switch {
		case d.Standard:
		case d.Module != nil && d.Module.Path == ourModule:
			require.NotContains(t, d.ImportPath, "/internal/dbtest")
			require.NotContains(t, d.ImportPath, "test", "a test kit reaches the hosts")
		default:
			require.True(t, allowed[d.ImportPath], "the root package links %s", d.ImportPath)
		}
	}
	// A list that came back empty, or of something else, proves nothing.
	require.True(t, seen[ourModule] && seen["database/sql"] && seen["github.com/google/uuid"])
}

// What a package brings along beside the root's.
func TestPackagesLinkWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for pkg, brings := range map[string]string{
		"provider":               "^$",
		"provider/wire":          "^$",
		"provider/chat":          "^$",
		"provider/chat/chattest": "^(github.com/santhosh-tekuri/jsonschema/v6|golang.org/x/text)(/|$)",
		"contract":               "^(github.com/santhosh-tekuri/jsonschema/v6|golang.org/x/text)(/|$)",
		"failover":               "^(github.com/santhosh-tekuri/jsonschema/v6|golang.org/x/text)(/|$)",
		"maintenance":            "^$",
		"pgdial":                 "^$",
		"pgnotify":               "^github.com/lib/pq(/|$)",
		"idempotency":            "^$",
	} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			list := dependencies(t, ourModule+"/"+pkg)
			require.NotEmpty(t, list)
			for _, d := range list {
				require.NotContains(t, []string{"testing", "os/exec", "plugin", "net/http/httptest"}, d.ImportPath)
				if !strings.HasPrefix(pkg, "provider/") && pkg != "idempotency" {
					require.NotEqual(t, "net/http", d.ImportPath)
				}
				if d.Standard || d.Module != nil && d.Module.Path == ourModule || strings.HasPrefix(d.ImportPath, "github.com/jmoiron/sqlx") ||
					d.ImportPath == "github.com/google/uuid" {
					continue
				}
				require.Regexp(t, brings, d.ImportPath)
			}
		})
	}
}
