package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

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
