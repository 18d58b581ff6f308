package onejob_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// batchHost is a service with a store, and another process's connection that
// can hold the file's lock.
type batchHost struct {
	*testing.T
	path   string
	writer *sql.DB // nil where it is the store's own
	other  *sql.DB
	store  *onejob.SQLiteStore
	jobs   *onejob.Jobs
}

// onBothWriters runs a test on a store that opened its pools itself, and keeps
// the writer's connection, and on one that was given them, and gives it back
// after each transaction.
func onBothWriters(t *testing.T, test func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost)) {
	t.Parallel()
	for name, own := range map[string]bool{"own pools": true, "the host's pools": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(t *testing.T, opts *onejob.Options) *batchHost { return newBatchHost(t, own, "faulty", opts) })
		})
	}
}

func newBatchHost(t *testing.T, own bool, driver string, opts *onejob.Options) *batchHost {
	t.Helper()
	h := &batchHost{T: t, path: filepath.Join(t.TempDir(), "host.db")}
	var err error
	if own {
		h.store, err = onejob.OpenSQLite(t.Context(), h.path, &onejob.SQLiteOptions{Driver: driver})
	} else {
		h.writer = liteDriverPool(t, driver, h.path, liteGood...)
		readers := litePool(t, h.path, "busy_timeout(5000)")
		readers.SetMaxOpenConns(4)
		h.store, err = onejob.NewSQLiteStore(h.writer, &onejob.SQLiteOptions{Readers: readers})
	}
	require.NoError(t, err)
	h.other = litePool(t, h.path, "busy_timeout(5000)", "foreign_keys(1)")
	onejob.SetMaxBatchTime(h.store, time.Hour) // how fast the machine is decides nothing
	t.Cleanup(func() {
		require.NoError(t, h.store.Close())
		dbtest.Check(t, h.other, "onejob_")
	})
	require.NoError(t, h.store.Migrate(t.Context()))
	h.jobs = onejob.New(h.store, opts)
	h.pragma("wal_autocheckpoint = 0")
	h.exec("CREATE TABLE host_rows (name TEXT NOT NULL UNIQUE)")
	return h
}

// pragma sets something on the writer's connection.
func (h *batchHost) pragma(text string) {
	h.Helper()
	require.NoError(h, h.jobs.Tx(h.Context(), func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "PRAGMA "+text)
		if err != nil {
			return err
		}
		return rows.Close()
	}))
}

func (h *batchHost) exec(statement string) {
	h.Helper()
	_, err := h.other.Exec(statement)
	require.NoError(h, err)
}

func (h *batchHost) count(query string) (n int) {
	h.Helper()
	require.NoError(h, h.other.QueryRow(query).Scan(&n))
	return n
}

func (h *batchHost) start(key string) onejob.Attempt {
	h.Helper()
	_, a, err := h.jobs.Start(h.Context(), liteIntent(key), liteTry)
	require.NoError(h, err)
	return a
}

func (h *batchHost) status(key string) onejob.Status {
	h.Helper()
	job, err := h.jobs.GetByKey(h.Context(), "owner-1", key)
	require.NoError(h, err)
	return job.Status()
}

// together runs the steps so that the first leads and takes the others into
// its batch, in their order: another process holds the file until all wait.
func (h *batchHost) together(steps ...func()) {
	h.Helper()
	h.whileAllWait(func() {}, steps...)
}

// whileAllWait is together, with something that happens before.
func (h *batchHost) whileAllWait(happens func(), steps ...func()) {
	h.Helper()
	conn, err := h.other.Conn(context.Background())
	require.NoError(h, err)
	defer conn.Close()
	_, err = conn.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	require.NoError(h, err)
	var all sync.WaitGroup
	for i, step := range steps {
		all.Go(step)
		if i > 0 {
			require.Eventually(h, func() bool { return onejob.Waiting(h.store) == i }, 10*time.Second, 10*time.Microsecond)
		} else {
			require.Eventually(h, func() bool { return onejob.Led(h.store) }, 10*time.Second, 10*time.Microsecond)
		}
	}
	happens()
	_, err = conn.ExecContext(context.Background(), "ROLLBACK")
	require.NoError(h, err)
	all.Wait()
}

// commits counts the commits in the file's WAL: each ends with a frame that
// holds the size of the database after it.
func (h *batchHost) commits() (n int) {
	h.Helper()
	wal, err := os.ReadFile(h.path + "-wal")
	require.NoError(h, err)
	require.Greater(h, len(wal), 32)
	frame := 24 + int(binary.BigEndian.Uint32(wal[8:]))
	for at := 32; at+frame <= len(wal); at += frame {
		if string(wal[at+8:at+16]) == string(wal[16:24]) && binary.BigEndian.Uint32(wal[at+4:]) > 0 {
			n++
		}
	}
	return n
}

type hookKey struct{}

// hooked runs what the context of a Complete carries.
func hooked(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	if f, ok := ctx.Value(hookKey{}).(func(ctx context.Context, tx *sql.Tx) error); ok {
		return f(ctx, tx)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES (?)", job.Key)
	return err
}
