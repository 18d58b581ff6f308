package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

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
