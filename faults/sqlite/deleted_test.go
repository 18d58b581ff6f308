package sqlite

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A limit, not a promise: the kernel lets a process write on to a file that has
// no name any more, so what is acknowledged then is gone. What the library can do
// is to say so, and not to make a new, empty file pass for the old one.
func TestADeletedFileIsToldAndNeverTakenForAnEmptyOne(t *testing.T) {
	path := migrated(t)
	jobs := onejob.New(dbtest.OpenSQLite(t, path), nil)
	op := onejob.NewOperator(jobs)
	_, _, err := jobs.Create(t.Context(), charge("second"))
	require.NoError(t, err)
	before, err := op.Doctor(t.Context())
	require.NoError(t, err)
	require.Empty(t, before)

	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Remove(path+suffix))
	}
	_, created, err := jobs.Create(t.Context(), charge("third"))
	require.NoError(t, err)
	require.True(t, created, "the limit: acknowledged, and gone with the last process that has the file open")
	findings, err := op.Doctor(t.Context())
	require.NoError(t, err)
	require.Len(t, findings, 1)
	require.True(t, findings[0].Breaks)
	require.Equal(t, "file", findings[0].Setting)

	next := onejob.New(dbtest.OpenSQLite(t, path), nil) // a process that starts now
	_, _, err = next.Create(t.Context(), charge("first"))
	require.ErrorIs(t, err, onejob.ErrUnsupported, "a second execution of the first job")
	require.ErrorContains(t, err, "Migrate")
}
