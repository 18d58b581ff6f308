package storetest

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("wait",
	testCase{
		name:  "there is nothing to wait for once a job is final or in doubt",
		why:   "whoever waits for an unknown attempt waits for ever: nothing but knowledge ends it",
		needs: []ability{operating},
		run: func(h *harness) {
			done, _ := h.inState("done", onejob.StateSucceeded)
			raced, _ := h.inState("raced", onejob.StateLate)
			doubted, _ := h.inState("doubted", onejob.StateUnknown)
			withdrawn, _ := h.inState("withdrawn", onejob.StateDetached)
			_, err := h.op.CancelJob(h.ctx, withdrawn.ID, someone)
			require.NoError(h, err)
			overdue := h.create("overdue")
			h.overdue(overdue, "primary")
			for id, want := range map[onejob.JobID]onejob.Status{
				done.ID: onejob.StatusCompleted, raced.ID: onejob.StatusCompleted, doubted.ID: onejob.StatusUnknown,
				withdrawn.ID: onejob.StatusCanceled, overdue.ID: onejob.StatusUnknown,
			} {
				job, err := h.jobs.Wait(h.ctx, "owner-1", id)
				require.NoError(h, err)
				require.Equal(h, want, job.Status())
				now, err := h.jobs.Get(h.ctx, "owner-1", id)
				require.NoError(h, err)
				require.Equal(h, now, job)
			}
		},
	},
	testCase{
		name: "a wait ends with what ends the job, whoever wrote it",
		why:  "a client that waits is answered by what another process has found out",
		run: func(h *harness) {
			twin := onejob.New(h.store, nil) // as of another process: nobody tells of what it does
			for name, by := range map[string]*onejob.Jobs{"own": h.jobs, "others": twin} {
				op := onejob.NewOperator(by)
				for key, end := range map[string]func(onejob.Attempt) error{
					"complete": func(a onejob.Attempt) error { _, err := by.Complete(h.ctx, a, []byte("r")); return err },
					"unknown":  func(a onejob.Attempt) error { _, err := by.MarkUnknown(h.ctx, a, nil); return err },
					"confirm":  func(a onejob.Attempt) error { _, err := op.Confirm(h.ctx, a.ID, nil, someone); return err },
					"cancel":   func(a onejob.Attempt) error { _, err := op.CancelJob(h.ctx, a.JobID, someone); return err },
					"fails unproven": func(a onejob.Attempt) error {
						_, err := by.Fail(h.ctx, a, errors.New("EOF"))
						return err
					},
				} {
					job, a := h.start(name + key)
					waits := h.wait(job.ID)
					require.NoError(h, end(a))
					got := <-waits
					require.NoError(h, got.err)
					now, err := h.jobs.Get(h.ctx, "owner-1", job.ID)
					require.NoError(h, err)
					require.Equal(h, now, got.job, key)
				}
			}
		},
	},
	testCase{
		name: "an attempt that passes its deadline ends a wait, swept or not",
		why:  "an attempt past its deadline is unknown to every reader",
		run: func(h *harness) {
			job, _, err := h.jobs.Start(h.ctx, intent("k"), onejob.Try{Provider: "primary", Timeout: 200 * time.Millisecond})
			require.NoError(h, err)
			got := <-h.wait(job.ID)
			require.NoError(h, got.err)
			require.Equal(h, onejob.StatusUnknown, got.job.Status())
		},
	},
	testCase{
		name:  "a job that goes on is waited for until the caller gives up",
		why:   "a failed attempt is not the end of its job, and a caller's patience is not an answer",
		needs: []ability{operating},
		run: func(h *harness) {
			started, _ := h.inState("started", onejob.StateStarted)
			failed, _ := h.inState("failed", onejob.StateFailed)
			detached, _ := h.inState("detached", onejob.StateDetached)
			for _, want := range []onejob.Job{started, failed, detached, h.create("pending")} {
				ctx, cancel := context.WithTimeout(h.ctx, 150*time.Millisecond)
				job, err := h.jobs.Wait(ctx, "owner-1", want.ID)
				cancel()
				require.ErrorIs(h, err, context.DeadlineExceeded)
				require.Equal(h, want.ID, job.ID)
				require.Equal(h, want.Status(), job.Status())
			}
		},
	},
	testCase{
		name: "nobody waits for another's job, nor within a transaction",
		why:  "that a job exists is the owner's to know, and a transaction does not see itself commit",
		run: func(h *harness) {
			job := h.create("k")
			for owner, id := range map[string]onejob.JobID{"owner-2": job.ID, "owner-1": "00000000-0000-7000-8000-000000000000", "o": "none"} {
				_, err := h.jobs.Wait(h.ctx, owner, id)
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
			_, err := h.jobs.Wait(h.ctx, "", job.ID)
			require.Equal(h, "owner", h.refusal(err, onejob.ErrInvalid).Field)
			err = h.jobs.Tx(h.ctx, func(ctx context.Context, _ *sql.Tx) error {
				_, err := h.jobs.Wait(ctx, "owner-1", job.ID)
				return err
			})
			if !errors.Is(err, onejob.ErrUnsupported) {
				require.Equal(h, "ctx", h.refusal(err, onejob.ErrInvalid).Field)
			}
		},
	},
	testCase{
		name:  "what is settled is told of many jobs at once",
		why:   "thousands who wait share one look, and what it leaves out is waited for in vain",
		needs: []ability{operating, waiting},
		run: func(h *harness) {
			store := h.store.(onejob.WaitStore)
			gone := onejob.JobID("00000000-0000-7000-8000-000000000000")
			ids, want := []onejob.JobID{gone, h.create("pending").ID}, []onejob.JobID{gone}
			for _, state := range allStates {
				job, _ := h.inState(string(state), state)
				ids = append(ids, job.ID)
				switch state {
				case onejob.StateSucceeded, onejob.StateLate, onejob.StateUnknown:
					want = append(want, job.ID)
				}
				job, _ = h.inState(string(state)+" and canceled", state)
				if _, err := h.op.CancelJob(h.ctx, job.ID, someone); err != nil {
					require.ErrorIs(h, err, onejob.ErrCompleted)
				}
				ids, want = append(ids, job.ID), append(want, job.ID)
			}
			overdue := h.create("overdue")
			h.overdue(overdue, "primary")
			h.inState("of others", onejob.StateSucceeded)
			ids, want = append(ids, overdue.ID), append(want, overdue.ID)
			clock := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
			got, err := store.Settled(h.ctx, ids, clock)
			require.NoError(h, err)
			require.ElementsMatch(h, want, got)
			got, err = store.Settled(h.ctx, []onejob.JobID{ids[1]}, clock)
			require.NoError(h, err)
			require.Empty(h, got)
		},
	},
)

type waited struct {
	job onejob.Job
	err error
}

// wait waits in the background.
func (h *harness) wait(id onejob.JobID) <-chan waited {
	done := make(chan waited, 1)
	go func() {
		job, err := h.jobs.Wait(h.ctx, "owner-1", id)
		done <- waited{job, err}
	}()
	return done
}
