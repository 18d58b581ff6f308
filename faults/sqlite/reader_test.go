package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/figures"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A reader that never ends, such as a backup or a forgotten console, keeps the
// write-ahead log from being emptied. Nobody waits for it, nothing is lost, and
// the log shrinks when it is gone.
func TestALongReaderStopsNobody(t *testing.T) {
	path := migrated(t)
	reader, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer reader.Close()
	snapshot, err := reader.Begin()
	require.NoError(t, err)
	count := func() (n int) {
		require.NoError(t, snapshot.QueryRow("SELECT count(*) FROM onejob_jobs").Scan(&n))
		return n
	}
	require.Equal(t, 1, count())

	store := dbtest.OpenSQLite(t, path)
	jobs := onejob.New(store, nil)
	total := figures.N(500, 5_000)
	for n := range total {
		_, a, err := jobs.Start(t.Context(), charge(fmt.Sprint("key ", n)), onejob.Try{Provider: "primary", Timeout: time.Hour})
		require.NoError(t, err)
		_, err = jobs.Complete(t.Context(), a, []byte(`"done"`))
		require.NoError(t, err)
	}
	figures.Add(t, figures.Operations, 2*total)
	require.Equal(t, 1, count(), "the reader sees what it saw at first")
	grown := size(t, path+"-wal")
	require.NoError(t, snapshot.Rollback())

	var busy, log, moved int
	require.NoError(t, reader.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved))
	require.Zero(t, busy)
	require.Less(t, size(t, path+"-wal"), grown)
	stats, err := onejob.NewOperator(jobs).Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, total+1, stats.Completed)
	dbtest.Check(t, reader, "onejob_")
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}
