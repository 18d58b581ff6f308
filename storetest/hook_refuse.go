package storetest

import (
	"context"
	"database/sql"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("OnComplete refuses",
	testCase{
		name:  "a race in the database is no refusal",
		why:   "a deadlock with the host's rows passes by itself: the completion runs again, with the result in hand",
		needs: []ability{transactions},
		run: func(h *harness) {
			runs := 0
			h.use(onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
				if runs++; runs%3 != 0 {
					return deadlock{}
				}
				return nil
			}})
			job, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				return []byte("result"), nil
			})
			require.NoError(h, err)
			require.Equal(h, onejob.StatusCompleted, job.Status())
			require.Equal(h, 3, runs)
		},
	},
	testCase{
		name:  "a constraint at COMMIT",
		why:   "the database's no to COMMIT is definite: it is told as a refusal, once, and not as an answer that was lost",
		needs: []ability{transactions},
		run: func(h *harness) {
			require.NoError(h, h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "CREATE TABLE parents (id TEXT PRIMARY KEY)")
				if err == nil {
					_, err = tx.ExecContext(ctx, "CREATE TABLE children (id TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
				}
				return err
			}))
			runs := 0
			orphan := func(ctx context.Context, tx *sql.Tx, _ onejob.Job) error {
				runs++
				_, err := tx.ExecContext(ctx, "INSERT INTO children VALUES ('orphan')")
				return err
			}
			h.use(onejob.Options{OnComplete: orphan})
			_, a := h.start("complete")
			_, err := h.jobs.Complete(h.ctx, a, []byte("result"))
			require.Error(h, err)
			require.NotErrorIs(h, err, onejob.ErrUnavailable)
			require.Equal(h, 1, runs)

			_, err = h.jobs.Do(h.ctx, intent("do"), try("primary"), func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				return []byte("result"), nil
			})
			e := h.refusal(err, onejob.ErrInDoubt)
			require.Equal(h, 2, runs)
			require.Equal(h, onejob.StatusUnknown, e.Job.Status())

			err = h.jobs.Tx(h.ctx, func(ctx context.Context, tx *sql.Tx) error {
				return orphan(ctx, tx, onejob.Job{})
			})
			require.Error(h, err)
			require.NotErrorIs(h, err, onejob.ErrUnavailable)
		},
	},
	testCase{
		name:  "its error undoes both",
		why:   "job and host rows go together: if the rows cannot be written the job is not completed, and the attempt may still win",
		needs: []ability{transactions, operating},
		run: func(h *harness) {
			refuse := true
			h.hook(func(context.Context, *sql.Tx, onejob.Job) error {
				if refuse {
					return errHost
				}
				return nil
			})
			for name, complete := range map[string]func(a onejob.Attempt) error{
				"Complete": func(a onejob.Attempt) error {
					_, err := h.jobs.Complete(h.ctx, a, []byte("result"))
					return err
				},
				"Confirm": func(a onejob.Attempt) error {
					_, err := h.op.Confirm(h.ctx, a.ID, []byte("result"), someone)
					return err
				},
				"Reconcile": func(onejob.Attempt) error {
					_, err := h.op.Reconcile(h.ctx, onejob.Filter{}, h.found)
					return err
				},
			} {
				_, a := h.inState(name, onejob.StateUnknown)
				refuse = true
				require.ErrorIs(h, complete(a), errHost, name)
				h.untouched(a, name)
				refuse = false
				require.NoError(h, complete(a), name)
				require.Equal(h, 1, h.hostRows(name), name)
			}
		},
	},
	testCase{
		name:  "its error leaves the attempt of Do unknown",
		why:   "the provider has acted, and its result could not be stored: that is a doubt",
		needs: []ability{transactions},
		run: func(h *harness) {
			h.hook(func(context.Context, *sql.Tx, onejob.Job) error { return errHost })
			job, err := h.jobs.Do(h.ctx, intent("k"), try("primary"), h.found)
			require.ErrorIs(h, err, errHost)
			require.Equal(h, onejob.StatusUnknown, job.Status())
			require.Zero(h, h.hostRows("k"))
			list := h.attempts(job)
			require.Len(h, list, 1)
			require.Equal(h, onejob.StateUnknown, list[0].State)
		},
	},
	testCase{
		name:  "its panic rolls back and goes on",
		why:   "a bug of the host's must neither be swallowed nor keep half of the work or a connection",
		needs: []ability{transactions},
		run: func(h *harness) {
			refuse := true
			h.hook(func(context.Context, *sql.Tx, onejob.Job) error {
				if refuse {
					panic(errHost)
				}
				return nil
			})
			_, a := h.start("k")
			for range 30 {
				require.PanicsWithValue(h, errHost, func() { _, _ = h.jobs.Complete(h.ctx, a, []byte("result")) })
			}
			h.untouched(a, "k")
			refuse = false
			h.complete(a, "result")
			require.Equal(h, 1, h.hostRows("k"))
		},
	},
	testCase{
		name:  "a job that it chains is there with the completion",
		why:   "CreateTx in the hook makes a chain of jobs without a gap: both commit or neither does",
		needs: []ability{transactions},
		run: func(h *harness) {
			refuse := true
			h.hook(func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
				next, created, err := h.jobs.CreateTx(ctx, tx, intent(job.Key+"-next"))
				if err == nil && refuse {
					err = errHost
				}
				if err == nil {
					require.True(h, created)
					require.Equal(h, job.Key+"-next", next.Key)
				}
				return err
			})
			_, a := h.start("k")
			_, err := h.jobs.Complete(h.ctx, a, []byte("result"))
			require.ErrorIs(h, err, errHost)
			h.untouched(a, "k")
			_, err = h.jobs.GetByKey(h.ctx, "owner-1", "k-next")
			require.ErrorIs(h, err, onejob.ErrNotFound)

			refuse = false
			h.complete(a, "result")
			next, err := h.jobs.GetByKey(h.ctx, "owner-1", "k-next")
			require.NoError(h, err)
			require.Equal(h, onejob.StatusPending, next.Status())
		},
	},
	testCase{
		name:  "writes of its own are refused at once",
		why:   "a write beside the hook's transaction would wait for that transaction, and it for the write",
		needs: []ability{transactions, operating},
		run: func(h *harness) {
			other, b := h.start("other")
			var refused map[string]error
			h.hook(func(ctx context.Context, _ *sql.Tx, job onejob.Job) error {
				if job.Key == "k" {
					refused = h.writes(ctx, other, b)
				}
				return nil
			})
			_, a := h.start("k")
			h.complete(a, "result")
			for name, err := range refused {
				require.Equal(h, "ctx", h.refusal(err, onejob.ErrInvalid).Field, name)
			}
			require.NotEmpty(h, refused)
		},
	},
	testCase{
		name:  "reads of its own see the completed job",
		why:   "within the hook the job is completed already, and a read that went past its transaction would not show it",
		needs: []ability{transactions},
		run: func(h *harness) {
			var seen []onejob.Job
			h.hook(func(ctx context.Context, _ *sql.Tx, job onejob.Job) error {
				jobs, err := h.reads(ctx, job, job.Attempt.ID)
				seen = jobs
				return err
			})
			_, a := h.start("k")
			done := h.complete(a, "result")
			require.Len(h, seen, 4)
			for _, job := range seen {
				require.Equal(h, done, job)
			}
		},
	},
)

// untouched requires that the attempt may still win, and that no row named so
// is there.
func (h *harness) untouched(a onejob.Attempt, name string) {
	h.Helper()
	job, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, onejob.JobOpen, job.State)
	require.Equal(h, int64(1), job.Version)
	require.Nil(h, job.Result)
	require.Equal(h, a.State, now.State)
	require.True(h, now.LateAt.IsZero())
	require.Zero(h, h.hostRows(name))
}

// writes tries each operation that writes, other than those that take a
// transaction, and returns how each ended. One that is not refused at once would
// wait for ever, hence the bound.
func (h *harness) writes(ctx context.Context, job onejob.Job, a onejob.Attempt) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	errs := map[string]error{}
	_, _, errs["Create"] = h.jobs.Create(ctx, intent("new"))
	_, errs["BeginAttempt"] = h.jobs.BeginAttempt(ctx, job, try("fallback"))
	_, _, errs["Start"] = h.jobs.Start(ctx, intent("new"), try("primary"))
	_, errs["Do"] = h.jobs.Do(ctx, intent("new"), try("primary"), h.found)
	_, errs["Complete"] = h.jobs.Complete(ctx, a, []byte("result"))
	_, errs["Fail"] = h.jobs.Fail(ctx, a, errNoAnswer)
	_, errs["MarkUnknown"] = h.jobs.MarkUnknown(ctx, a, errNoAnswer)
	_, errs["Extend"] = h.jobs.Extend(ctx, a, 1)
	_, errs["SetExternalRef"] = h.jobs.SetExternalRef(ctx, a, "ref")
	errs["Tx"] = h.jobs.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
	_, errs["Confirm"] = h.op.Confirm(ctx, a.ID, []byte("result"), someone)
	_, errs["Refute"] = h.op.Refute(ctx, a.ID, someone)
	_, errs["CancelAttempt"] = h.op.CancelAttempt(ctx, a.ID, someone)
	_, errs["DetachAttempt"] = h.op.DetachAttempt(ctx, a.ID, someone)
	_, errs["CancelJob"] = h.op.CancelJob(ctx, job.ID, someone)
	_, errs["Sweep"] = h.op.Sweep(ctx, 1)
	_, errs["Purge"] = h.op.Purge(ctx, onejob.Retention{Payloads: 1}, 1)
	_, errs["Reconcile"] = h.op.Reconcile(ctx, onejob.Filter{}, h.found)
	return errs
}

// reads reads the job in each way there is, and its attempts.
func (h *harness) reads(ctx context.Context, job onejob.Job, id onejob.AttemptID) ([]onejob.Job, error) {
	byID, err := h.jobs.Get(ctx, job.Owner, job.ID)
	if err != nil {
		return nil, err
	}
	byKey, err := h.jobs.GetByKey(ctx, job.Owner, job.Key)
	if err != nil {
		return nil, err
	}
	all, attempts, err := h.op.Get(ctx, job.ID)
	if err != nil {
		return nil, err
	}
	jobs := []onejob.Job{byID, byKey, all}
	if id != "" {
		byAttempt, _, err := h.jobs.GetAttempt(ctx, id)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, byAttempt)
	}
	list, err := h.jobs.Attempts(ctx, job.Owner, job.ID)
	if err == nil && len(list) != len(attempts) {
		err = errHost
	}
	return jobs, err
}

// deadlock is what a driver returns to the victim of one.
type deadlock struct{}

func (deadlock) Error() string    { return "deadlock detected" }
func (deadlock) SQLState() string { return "40P01" }
