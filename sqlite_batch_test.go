package onejob_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	op     *onejob.Operator
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
	h.op = onejob.NewOperator(h.jobs)
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

func TestWritesThatWaitOnSQLiteShareOneCommit(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		h.start("warm")
		before := h.commits()
		_, _, err := h.jobs.Create(t.Context(), liteIntent("alone"))
		require.NoError(t, err)
		require.Equal(t, before+1, h.commits(), "a write of its own")

		const n = 20
		before = h.commits()
		attempts := make([]onejob.Attempt, n)
		steps := make([]func(), n)
		for i := range steps {
			steps[i] = func() { attempts[i] = h.start(fmt.Sprint("k", i)) }
		}
		h.together(steps...)
		require.Equal(t, before+1, h.commits(), "%d starts", n)

		for i := range steps {
			steps[i] = func() {
				job, err := h.jobs.Complete(t.Context(), attempts[i], []byte{byte(i)})
				require.NoError(t, err)
				require.Equal(t, []byte{byte(i)}, job.Result)
				require.Equal(t, fmt.Sprint("k", i), job.Key)
			}
		}
		before = h.commits()
		h.together(steps...)
		require.Equal(t, before+1, h.commits(), "%d completions", n)
	})
}

// A key that exists is found past the writer, whatever holds it, and nothing is
// written for it.
func TestADuplicateOnSQLiteDoesNotWaitForTheWriter(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		a := h.start("k")
		before, err := os.ReadFile(h.path + "-wal")
		require.NoError(t, err)
		duplicate := func() {
			job, created, err := h.jobs.Create(t.Context(), liteIntent("k"))
			require.NoError(t, err)
			require.False(t, created)
			require.Equal(t, a.JobID, job.ID)
			_, _, err = h.jobs.Start(t.Context(), liteIntent("k"), liteTry)
			require.ErrorIs(t, err, onejob.ErrAttemptOpen)
			list, err := h.jobs.CreateMany(t.Context(), []onejob.Intent{liteIntent("k"), liteIntent("k")})
			require.NoError(t, err)
			require.Equal(t, a.JobID, list[1].Job.ID)
		}
		duplicate() // the writer is free
		require.NoError(t, h.jobs.Tx(t.Context(), func(context.Context, *sql.Tx) error {
			done := make(chan struct{})
			go func() {
				defer close(done)
				duplicate()
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Error("it waits for a transaction")
			}
			return nil
		}))
		conn, err := h.other.Conn(t.Context())
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		require.NoError(t, err)
		duplicate() // another process writes
		_, err = conn.ExecContext(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		_, err = h.jobs.BeginAttempt(t.Context(), onejob.Job{ID: a.JobID, Intent: liteIntent("k")}, liteTry)
		require.ErrorIs(t, err, onejob.ErrAttemptOpen, "a refusal")
		after, err := os.ReadFile(h.path + "-wal")
		require.NoError(t, err)
		require.Equal(t, before, after, "the log has not grown")
	})
}

// What is in one batch is as if it had come one after the other.
func TestWritesOfOneBatchSeeEachOther(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		a := h.start("k")
		made := make([]bool, 4)
		ids := make([]onejob.JobID, 4)
		steps := []func(){func() {
			_, err := h.jobs.Complete(t.Context(), a, []byte("first"))
			require.NoError(t, err)
		}, func() {
			_, err := h.jobs.Complete(t.Context(), a, []byte("second"))
			require.ErrorIs(t, err, onejob.ErrResultMismatch)
		}, func() {
			_, err := h.jobs.BeginAttempt(t.Context(), onejob.Job{ID: a.JobID, Intent: liteIntent("k")}, liteTry)
			require.ErrorIs(t, err, onejob.ErrCompleted)
		}}
		for i := range made {
			steps = append(steps, func() {
				job, created, err := h.jobs.Create(t.Context(), liteIntent("same"))
				require.NoError(t, err)
				ids[i], made[i] = job.ID, created
			})
		}
		before := h.commits()
		h.together(steps...)
		require.Equal(t, before+1, h.commits())
		created := 0
		for i := range made {
			require.Equal(t, ids[0], ids[i])
			if made[i] {
				created++
			}
		}
		require.Equal(t, 1, created)
	})
}

// The batch's bad neighbour: each way in which one write can fail, and what its
// caller is told. All the others of its batch must be done once, and only
// once.
type neighbour struct {
	name    string
	prepare func(h *batchHost)
	// do is the write. It panics or ends its goroutine where wild is set.
	do   func(h *batchHost, a onejob.Attempt) error
	wild bool
	want func(t *testing.T, err error)
	mend func(h *batchHost)
	// wins: its own job is completed in the end.
	wins bool
	// plain: it happens without OnComplete too.
	plain bool
}

var errHook = errors.New("the host says no")

type hookKey struct{}

// hooked runs what the context of a Complete carries.
func hooked(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	if f, ok := ctx.Value(hookKey{}).(func(ctx context.Context, tx *sql.Tx) error); ok {
		return f(ctx, tx)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES (?)", job.Key)
	return err
}

func completing(f func(ctx context.Context, tx *sql.Tx) error) func(h *batchHost, a onejob.Attempt) error {
	return func(h *batchHost, a onejob.Attempt) error {
		_, err := h.jobs.Complete(context.WithValue(h.Context(), hookKey{}, f), a, []byte("bad"))
		return err
	}
}

func plainComplete(h *batchHost, a onejob.Attempt) error {
	_, err := h.jobs.Complete(h.Context(), a, []byte("bad"))
	return err
}

// raising breaks the completion of the bad one by a trigger.
func raising(how string) func(h *batchHost) {
	return func(h *batchHost) {
		h.exec(`CREATE TRIGGER bad BEFORE UPDATE ON onejob_jobs WHEN NEW.result = x'626164'
			BEGIN SELECT RAISE(` + how + `, 'broken'); END`)
	}
}

func wants(target error) func(*testing.T, error) {
	return func(t *testing.T, err error) { require.ErrorIs(t, err, target) }
}

func insertBad(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES ('bad')")
	return err
}

var neighbours = []neighbour{
	{name: "a constraint, the statement undone", plain: true, prepare: raising("ABORT"), do: plainComplete, want: wants(onejob.ErrUnavailable)},
	{name: "a constraint, the statement stopped", plain: true, prepare: raising("FAIL"), do: plainComplete, want: wants(onejob.ErrUnavailable)},
	{name: "a constraint, all of it rolled back", plain: true, prepare: raising("ROLLBACK"), do: plainComplete, want: wants(onejob.ErrUnavailable)},
	{name: "the disk is full", plain: true, prepare: func(h *batchHost) {
		var pages int
		require.NoError(h, h.other.QueryRow("PRAGMA page_count").Scan(&pages))
		h.pragma(fmt.Sprintf("max_page_count = %d", pages+20))
	}, do: func(h *batchHost, a onejob.Attempt) error {
		_, err := h.jobs.Complete(h.Context(), a, make([]byte, 1<<20))
		return err
	}, want: wants(onejob.ErrUnavailable), mend: func(h *batchHost) { h.pragma("max_page_count = 1073741823") }},
	{name: "OnComplete refuses", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insertBad(ctx, tx), errHook)
	}), want: wants(errHook)},
	{name: "OnComplete breaks a constraint", prepare: func(h *batchHost) { h.exec("INSERT INTO host_rows VALUES ('bad')") },
		do: completing(insertBad), want: func(t *testing.T, err error) { require.ErrorContains(t, err, "OnComplete") },
		mend: func(h *batchHost) { h.exec("DELETE FROM host_rows WHERE name = 'bad'") }},
	{name: "OnComplete breaks a constraint at the commit", prepare: func(h *batchHost) {
		h.exec("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
		h.exec("CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
	}, do: completing(func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO children VALUES (7)")
		return err
	}), want: func(t *testing.T, err error) { require.ErrorContains(t, err, "OnComplete") }},
	{name: "OnComplete's statement is interrupted", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return interrupted(ctx, tx)
	}), want: func(t *testing.T, err error) { require.Error(t, err) }},
	{name: "OnComplete's statement is interrupted, and it swallows that", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		_ = interrupted(ctx, tx)
		return nil
	}), want: func(t *testing.T, err error) { require.Error(t, err) }},
	{name: "OnComplete rolls back", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insertBad(ctx, tx), tx.Rollback())
	}), want: func(t *testing.T, err error) { require.Error(t, err) }},
	{name: "OnComplete panics", wild: true, do: completing(func(ctx context.Context, tx *sql.Tx) error {
		_ = insertBad(ctx, tx)
		panic("OnComplete")
	})},
	{name: "OnComplete ends its goroutine", wild: true, do: completing(func(ctx context.Context, tx *sql.Tx) error {
		_ = insertBad(ctx, tx)
		runtime.Goexit()
		return nil
	})},
	{name: "OnComplete refuses with an error that has a code", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insertBad(ctx, tx), notFound{})
	}), want: wants(notFound{})},
	{name: "OnComplete meets a lock of another database", do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(insertBad(ctx, tx), lockedElsewhere{})
	}), want: wants(lockedElsewhere{})},
	{name: "OnComplete leaves rows open that still write", wins: true, do: completing(func(ctx context.Context, tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "INSERT INTO host_rows VALUES ('left open'), ('left open too') RETURNING name")
		if err == nil && !rows.Next() {
			err = rows.Err()
		}
		return err
	}), want: func(t *testing.T, err error) { require.NoError(t, err) }},
	{name: "OnComplete commits", wins: true, do: completing(func(ctx context.Context, tx *sql.Tx) error {
		return tx.Commit()
	}), want: func(t *testing.T, err error) { require.NoError(t, err) }},
}

// notFound is an error of the host's own that has a code, which is not SQLite's.
type notFound struct{}

func (notFound) Error() string { return "404" }
func (notFound) Code() int     { return 404 }

// lockedElsewhere is SQLite's, of another file.
type lockedElsewhere struct{}

func (lockedElsewhere) Error() string { return "database is locked" }
func (lockedElsewhere) Code() int     { return 5 }

func interrupted(ctx context.Context, tx *sql.Tx) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := tx.ExecContext(ctx, `INSERT INTO host_rows
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'bad' || count(*) FROM n`)
	if err == nil {
		return errors.New("it was not interrupted")
	}
	return err
}

func TestAWriteThatFailsDoesNotFailItsBatch(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		for _, n := range neighbours {
			for _, at := range []int{0, 2, 4} {
				t.Run(fmt.Sprintf("%s/%d", n.name, at), func(t *testing.T) {
					t.Parallel()
					n.inBatch(t, at, host(t, &onejob.Options{OnComplete: hooked, MaxResult: 1 << 20}), 2)
				})
				if n.plain {
					t.Run(fmt.Sprintf("%s, no OnComplete/%d", n.name, at), func(t *testing.T) {
						t.Parallel()
						n.inBatch(t, at, host(t, nil), 0)
					})
				}
			}
		}
	})
}

// inBatch puts the bad one at a place in a batch of two completions and two
// starts. OnComplete leaves so many rows.
func (n neighbour) inBatch(t *testing.T, at int, h *batchHost, rows int) {
	bad, b, c := h.start("bad"), h.start("b"), h.start("c")
	if n.prepare != nil {
		n.prepare(h)
	}
	complete := func(a onejob.Attempt) func() {
		return func() {
			job, err := h.jobs.Complete(t.Context(), a, []byte("good"))
			require.NoError(t, err)
			require.Equal(t, onejob.StatusCompleted, job.Status())
		}
	}
	steps := []func(){func() { h.start("d") }, complete(b), complete(c), func() { h.start("e") }}
	var err error
	var recovered any
	steps = append(steps[:at:at], append([]func(){func() {
		if n.wild {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recovered = recover() }()
				err = n.do(h, bad)
				t.Error("it returned")
			}()
			<-done
			return
		}
		err = n.do(h, bad)
	}}, steps[at:]...)...)
	strayed := ""
	faults.Store(h.path, func(s faultyStatement) error {
		if s.strays() {
			strayed = s.text
		}
		return s.own()
	})
	h.together(steps...)
	faults.Delete(h.path)
	require.Empty(t, strayed, "a transaction that was gone was gone on with, a commit for each statement")
	if n.want != nil {
		n.want(t, err)
	}
	if n.name == "OnComplete panics" {
		require.Equal(t, "OnComplete", recovered)
	}
	if n.mend != nil {
		n.mend(h)
	}

	require.Equal(t, onejob.StatusCompleted, h.status("b"))
	require.Equal(t, onejob.StatusCompleted, h.status("c"))
	require.Equal(t, onejob.StatusRunning, h.status("d"))
	require.Equal(t, onejob.StatusRunning, h.status("e"))
	require.Equal(t, rows, h.count("SELECT count(*) FROM host_rows WHERE name IN ('b', 'c')"))
	require.Equal(t, 0, h.count("SELECT count(*) FROM host_rows WHERE name LIKE 'bad%'"), "what was refused was kept")
	if n.wins {
		require.Equal(t, onejob.StatusCompleted, h.status("bad"))
		return
	}
	require.Equal(t, onejob.StatusRunning, h.status("bad"))
	h.exec("DROP TRIGGER IF EXISTS bad")
	_, err = h.jobs.Complete(t.Context(), bad, []byte("good"))
	require.NoError(t, err, "the writer is free, and the job is not spoilt")
}

// A context bounds the wait for the writer, and nothing else.
func TestACallerOfABatchThatGoes(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		a := h.start("a")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		h.whileAllWait(func() {
			cancel()
			require.ErrorIs(t, <-gone, context.Canceled)
		}, func() { h.start("b") }, func() {
			_, _, err := h.jobs.Create(ctx, liteIntent("gone"))
			gone <- err
		}, func() {
			_, err := h.jobs.Complete(t.Context(), a, []byte("result"))
			require.NoError(t, err)
		})
		_, err := h.jobs.GetByKey(t.Context(), "owner-1", "gone")
		require.ErrorIs(t, err, onejob.ErrNotFound)
		require.Equal(t, onejob.StatusCompleted, h.status("a"))
	})
}

// A leader that runs no host's code does not wait for another's: whoever has some
// leads the next batch.
func TestOnCompleteThatComesToABatchWithoutOne(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, &onejob.Options{OnComplete: hooked})
		a := h.start("a")
		before := h.commits()
		h.together(func() { h.start("b") }, func() { h.start("c") }, func() {
			_, err := h.jobs.Complete(t.Context(), a, nil)
			require.NoError(t, err)
		}, func() { h.start("d") })
		require.Equal(t, before+2, h.commits())
		require.Equal(t, 1, h.count("SELECT count(*) FROM host_rows WHERE name = 'a'"))
		require.Equal(t, onejob.StatusRunning, h.status("d"))
	})
}

// The host's code may take long, or wait for the very caller that waits for it.
func TestACallerDoesNotWaitForAnothersOnComplete(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, &onejob.Options{OnComplete: hooked})
		slow, first := h.start("slow"), h.start("first")
		ctx, cancel := context.WithCancel(t.Context())
		result := []byte("result")
		other := h.start("other")
		gone := make(chan struct{})
		h.together(func() {
			_, err := h.jobs.Complete(t.Context(), first, nil)
			require.NoError(t, err)
		}, func() {
			defer close(gone)
			in := liteIntent("gone")
			in.Opaque, in.Params = true, result
			_, _, err := h.jobs.Create(ctx, in)
			require.ErrorIs(t, err, onejob.ErrUnavailable)
			copy(result, "XXXXXX") // it is the caller's again
		}, func() {
			require.NoError(t, completing(func(ctx context.Context, tx *sql.Tx) error {
				cancel()
				<-gone
				return nil
			})(h, slow))
		}, func() {
			_, err := h.jobs.Complete(t.Context(), other, nil)
			require.NoError(t, err)
		})
		job, err := h.jobs.GetByKey(t.Context(), "owner-1", "gone")
		require.NoError(t, err, "its fate was not known: it is there")
		require.Equal(t, "result", string(job.Params))
		require.Equal(t, onejob.StatusCompleted, h.status("slow"))
		require.Equal(t, onejob.StatusCompleted, h.status("other"))
	})
}

// Each of a hundred callers would otherwise wait for the lock as long as the
// first, one after the other.
func TestAFileThatStaysLockedIsToldToAllThatWait(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		h.start("warm")
		h.pragma("busy_timeout = 300")
		conn, err := h.other.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
		require.NoError(t, err)
		const n = 100
		errs := make(chan error, n)
		for i := range n {
			go func() {
				_, _, err := h.jobs.Create(t.Context(), liteIntent(fmt.Sprint(i)))
				errs <- err
			}()
		}
		deadline := time.After(20 * time.Second) // one by one it would be 30
		for range n {
			select {
			case err := <-errs:
				require.ErrorIs(t, err, onejob.ErrUnavailable)
			case <-deadline:
				t.Fatal("they wait one after the other")
			}
		}
		_, err = conn.ExecContext(t.Context(), "ROLLBACK")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.Equal(t, 1, h.count("SELECT count(*) FROM onejob_jobs"))
	})
}

// Jobs.Tx, a batch and the host's own transactions take turns.
func TestBatchesAndTransactionsTakeTurns(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, &onejob.Options{OnComplete: hooked})
		const n, each = 12, 10
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				for j := range each {
					key := fmt.Sprintf("%d-%d", i, j)
					a := h.start(key)
					switch i % 4 {
					case 0:
						require.NoError(t, h.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
							_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES (?)", key)
							require.NoError(t, err)
							_, err = h.jobs.CompleteTx(ctx, tx, a, nil)
							return err
						}))
					case 1:
						if h.writer == nil {
							_, err := h.jobs.Complete(t.Context(), a, nil)
							require.NoError(t, err)
							continue
						}
						tx, err := h.writer.BeginTx(t.Context(), nil)
						require.NoError(t, err)
						_, err = tx.ExecContext(t.Context(), "INSERT INTO host_rows VALUES (?)", key)
						require.NoError(t, err)
						_, err = h.jobs.CompleteTx(t.Context(), tx, a, nil)
						require.NoError(t, err)
						require.NoError(t, tx.Commit())
					default:
						_, err := h.jobs.Complete(t.Context(), a, nil)
						require.NoError(t, err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, n*each, h.count("SELECT count(*) FROM host_rows"))
		require.Equal(t, n*each, h.count("SELECT count(*) FROM onejob_jobs WHERE state = 'completed'"))
	})
}

func TestABatchIsBounded(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		h.start("warm")
		before := h.commits()
		steps := make([]func(), onejob.MaxBatch+1)
		for i := range steps {
			steps[i] = func() { h.start(fmt.Sprint("k", i)) }
		}
		h.together(steps...)
		require.Equal(t, before+2, h.commits())

		onejob.SetMaxBatchTime(h.store, 0)
		before = h.commits()
		h.together(func() { h.start("a") }, func() { h.start("b") }, func() { h.start("c") })
		require.Equal(t, before+3, h.commits(), "no time for company")
		onejob.SetMaxBatchTime(h.store, time.Hour)

		// Some 4 MiB, by size.
		before = h.commits()
		steps = steps[:0]
		for i := range 20 {
			steps = append(steps, func() {
				in := liteIntent(fmt.Sprint("big", i))
				in.Params, in.Opaque = make([]byte, 250<<10), true
				_, _, err := h.jobs.Create(t.Context(), in)
				require.NoError(t, err)
			})
		}
		h.together(steps...)
		require.Equal(t, before+2, h.commits())
	})
}

func TestCloseWaitsForWhatWaits(t *testing.T) {
	onBothWriters(t, func(t *testing.T, host func(*testing.T, *onejob.Options) *batchHost) {
		h := host(t, nil)
		h.start("warm")
		onejob.SetMaxBatchTime(h.store, 0) // each in a batch of its own
		starts := make([]func(), 40)
		for i := range starts {
			starts[i] = func() { h.start(fmt.Sprint("k", i)) }
		}
		closed, stored := make(chan error, 1), 0
		past := litePool(t, h.path, "busy_timeout(5000)")
		h.whileAllWait(func() {
			go func() {
				err := h.store.Close()
				closed <- errors.Join(err, past.QueryRow("SELECT count(*) FROM onejob_jobs WHERE key LIKE 'k%'").Scan(&stored))
			}()
			require.Eventually(t, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				_, _, err := h.jobs.Create(ctx, liteIntent("later"))
				return errors.Is(err, onejob.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded)
			}, 10*time.Second, time.Millisecond)
			time.Sleep(50 * time.Millisecond)
			require.Empty(t, closed)
		}, starts...)
		require.NoError(t, <-closed)
		require.Equal(t, len(starts), stored, "when Close returned")
		require.Equal(t, 0, h.count("SELECT count(*) FROM onejob_jobs WHERE key = 'later'"))
		require.NoError(t, h.store.Close(), "twice")
	})
}
