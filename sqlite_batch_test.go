package onejob_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

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
