package dbtest

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/invariants"
)

// Check fails the test if the rows break an invariant. tables is what stands
// before a table's name.
func Check(t testing.TB, db *sql.DB, tables string) {
	t.Helper()
	// Not the test's own context: clean-up functions call this, after its end.
	broken, err := invariants.Broken(context.Background(), db, tables)
	require.NoError(t, err)
	for _, line := range broken {
		t.Errorf("broken invariant: %s", line)
	}
}
