// Package sqlite shows what becomes of a job's file when the machine around it
// misbehaves. What happens to one operation in its midst is the grid's.
package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(readOnly); path != "" {
		readAndWrite(path)
		return
	}
	dbtest.Main(m)
}

// charge is an intent with a key of its own.
func charge(key string) onejob.Intent {
	return onejob.Intent{Owner: "OWNER-1", Key: key, Kind: "charge", Params: []byte(`{"cents":100}`)}
}

// migrated makes a file with one completed job, and closes it.
func migrated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := onejob.OpenSQLite(t.Context(), path, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	jobs := onejob.New(store, nil)
	_, a, err := jobs.Start(t.Context(), charge("first"), onejob.Try{Provider: "primary", Timeout: time.Hour})
	require.NoError(t, err)
	_, err = jobs.Complete(t.Context(), a, []byte(`"done"`))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	return path
}
