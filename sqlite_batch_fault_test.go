package onejob_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// batchFaults are what SQLite itself may do to a batch, once.
var batchFaults = []struct {
	name string
	at   func(s faultyStatement) bool
	fail func(s faultyStatement) error
}{
	{"an I/O error at a completion, all of it rolled back",
		func(s faultyStatement) bool { return strings.Contains(s.text, "UPDATE onejob_jobs") && hasBad(s) },
		func(s faultyStatement) error { s.rollback(); return diskError{} }},
	{"an I/O error at a completion, the transaction stays",
		func(s faultyStatement) bool { return strings.Contains(s.text, "UPDATE onejob_jobs") && hasBad(s) },
		func(faultyStatement) error { return diskError{} }},
	{"an I/O error at the second statement of a start, all of it rolled back",
		func(s faultyStatement) bool { return strings.Contains(s.text, "INSERT INTO onejob_attempts") },
		func(s faultyStatement) error { s.rollback(); return diskError{} }},
	{"the transaction ends between the statements of a completion",
		func(s faultyStatement) bool { return strings.Contains(s.text, "SET state = 'succeeded'") },
		func(s faultyStatement) error { s.rollback(); return s.own() }},
	{"an I/O error in the place of COMMIT, all of it rolled back",
		func(s faultyStatement) bool { return s.text == "COMMIT" },
		func(s faultyStatement) error { s.rollback(); return diskError{} }},
	{"an I/O error in the place of COMMIT, the transaction stays",
		func(s faultyStatement) bool { return s.text == "COMMIT" },
		func(faultyStatement) error { return diskError{} }},
	{"an I/O error in the place of COMMIT's good news",
		func(s faultyStatement) bool { return s.text == "COMMIT" },
		func(s faultyStatement) error { _ = s.own(); return diskError{} }},
}

func hasBad(s faultyStatement) bool {
	for _, arg := range s.args {
		if b, ok := arg.Value.([]byte); ok && bytes.Equal(b, []byte("bad")) {
			return true
		}
	}
	return false
}

// Each caller of a batch hears of its own write only, which is done once: the
// disk was bad for a moment.
func TestADiskThatFailsOnceFailsNobodyElseOfABatch(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		for _, f := range batchFaults {
			for _, hook := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, own pools %v, OnComplete %v", f.name, own, hook), func(t *testing.T) {
					t.Parallel()
					opts, ran := &onejob.Options{}, atomic.Int64{}
					if hook {
						opts.OnComplete = func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
							ran.Add(1)
							_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES (?)", job.Key)
							return err
						}
					}
					h := newBatchHost(t, own, "faulty", opts)
					bad, b := h.start("bad"), h.start("b")
					fired := atomic.Bool{}
					complete := func(a onejob.Attempt, result string) func() {
						return func() {
							_, err := h.jobs.Complete(t.Context(), a, []byte(result))
							require.NoError(t, err, "Complete asks again by itself")
						}
					}
					var started [2]onejob.Attempt
					begin := func(i int) func() {
						return func() { started[i] = h.start(fmt.Sprint("new", i)) }
					}
					faults.Store(h.path, func(s faultyStatement) error {
						if f.at(s) && fired.CompareAndSwap(false, true) {
							return f.fail(s)
						}
						return s.own()
					})
					h.together(complete(b, "good"), begin(0), complete(bad, "bad"), begin(1))
					faults.Delete(h.path)
					require.True(t, fired.Load())
					require.Equal(t, onejob.StatusCompleted, h.status("b"))
					require.Equal(t, onejob.StatusCompleted, h.status("bad"))
					require.Equal(t, 0, h.count("SELECT count(*) FROM onejob_attempts WHERE state = 'late'"))
					for _, a := range started {
						list, err := h.jobs.Attempts(t.Context(), "owner-1", a.JobID)
						require.NoError(t, err)
						require.Len(t, list, 1)
						require.Equal(t, a.ID, list[0].ID)
					}
					if hook {
						require.Equal(t, 2, h.count("SELECT count(*) FROM host_rows"))
					}
				})
			}
		}
	}
}

// An OnComplete that leaves a goroutine behind which ends the transaction harms
// the batch, and no write of it: each is all there, with its OnComplete's rows.
func TestWhatOnCompleteLeftRunningEndsTheTransaction(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprintf("own pools %v", own), func(t *testing.T) {
			t.Parallel()
			var first atomic.Pointer[sql.Tx]
			var due atomic.Bool
			over := make(chan error, 1)
			h := newBatchHost(t, own, "faulty", &onejob.Options{
				OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
					first.CompareAndSwap(nil, tx)
					_, err := tx.ExecContext(ctx, "INSERT INTO host_rows VALUES (?)", job.Key)
					return err
				},
				Now: func() time.Time { // is read between two statements
					if due.CompareAndSwap(true, false) {
						over <- first.Load().Rollback()
					}
					return time.Now()
				},
			})
			a, b := h.start("a"), h.start("b")
			complete := func(a onejob.Attempt) func() {
				return func() {
					_, err := h.jobs.Complete(t.Context(), a, []byte("result"))
					require.NoError(t, err)
				}
			}
			armed := atomic.Bool{}
			faults.Store(h.path, func(s faultyStatement) error {
				if s.text == "SAVEPOINT onejob_write" && armed.CompareAndSwap(false, true) {
					due.Store(true)
				}
				return s.own()
			})
			h.together(complete(a), complete(b))
			faults.Delete(h.path)
			require.NoError(t, <-over, "the transaction was ended")
			require.Equal(t, onejob.StatusCompleted, h.status("a"))
			require.Equal(t, onejob.StatusCompleted, h.status("b"))
			require.Equal(t, 2, h.count("SELECT count(*) FROM host_rows"))
		})
	}
}
