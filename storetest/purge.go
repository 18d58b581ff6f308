package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("purge",
	testCase{
		name:  "keeps the winner and the digest",
		why:   "the winner's repeat, a late loser and a very late retry must all get their answer long after the payloads are gone",
		needs: []ability{operating},
		run: func(h *harness) {
			job, losers, winner := h.finished("k")
			h.purge(1)

			now, list, err := h.op.Get(h.ctx, job.ID)
			require.NoError(h, err)
			require.Nil(h, now.Params)
			require.Nil(h, now.Result)
			require.False(h, now.PurgedAt.IsZero())
			require.Equal(h, job.Version+1, now.Version)
			require.Equal(h, onejob.JobCompleted, now.State)
			require.Equal(h, job.EndedAt, now.EndedAt)
			require.Equal(h, []string{job.Owner, job.Key, job.Kind}, []string{now.Owner, now.Key, now.Kind})
			require.Len(h, list, 1)
			require.Equal(h, winner.ID, now.Attempt.ID)
			require.Equal(h, onejob.StateSucceeded, list[0].State)
			require.Empty(h, list[0].Cause)
			require.Empty(h, list[0].ExternalRef)

			again, err := h.jobs.Complete(h.ctx, winner, []byte("result"))
			require.NoError(h, err)
			require.Equal(h, now, again)
			_, err = h.jobs.Complete(h.ctx, winner, []byte("another"))
			require.Equal(h, now, h.refusal(err, onejob.ErrResultMismatch).Job)
			for _, a := range losers {
				_, err := h.jobs.Complete(h.ctx, a, []byte("the loser's"))
				require.Equal(h, now, h.refusal(err, onejob.ErrLateResult).Job)
				_, err = h.op.Confirm(h.ctx, a.ID, []byte("the loser's"), someone)
				require.Equal(h, now, h.refusal(err, onejob.ErrCompleted).Job, "what was confirmed is one too many")
				_, _, err = h.jobs.GetAttempt(h.ctx, a.ID)
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
		},
	},
	testCase{
		name:  "retires the key",
		why:   "a very late retry must not execute again, and other input under the key is a conflict still",
		needs: []ability{operating},
		run: func(h *harness) {
			done, _ := h.inState("done", onejob.StateSucceeded)
			withdrawn := h.create("withdrawn")
			_, err := h.op.CancelJob(h.ctx, withdrawn.ID, someone)
			require.NoError(h, err)
			h.purge(2)
			for _, c := range []struct {
				job   onejob.Job
				begin error
			}{{done, onejob.ErrCompleted}, {withdrawn, onejob.ErrJobCanceled}} {
				again, created, err := h.jobs.Create(h.ctx, intent(c.job.Key))
				require.Equal(h, c.job.ID, h.refusal(err, onejob.ErrKeyRetired).Job.ID)
				require.Equal(h, c.job.ID, again.ID)
				require.False(h, created)
				_, _, err = h.jobs.Start(h.ctx, intent(c.job.Key), try("primary"))
				require.ErrorIs(h, err, onejob.ErrKeyRetired)
				_, err = h.jobs.BeginAttempt(h.ctx, c.job, try("primary"))
				require.Equal(h, c.job.ID, h.refusal(err, c.begin).Job.ID)
				other := intent(c.job.Key)
				other.Kind = "refund"
				_, _, err = h.jobs.Create(h.ctx, other)
				require.Equal(h, c.job.ID, h.refusal(err, onejob.ErrKeyConflict).Job.ID)
			}
			now, err := h.jobs.Get(h.ctx, withdrawn.Owner, withdrawn.ID)
			require.NoError(h, err)
			require.Equal(h, onejob.StatusCanceled, now.Status())
			require.Equal(h, someone, now.Decision)
			require.Equal(h, int64(3), now.Version)
			require.Nil(h, now.Params)
		},
	},
	testCase{
		name:  "is held back by an open attempt",
		why:   "its provider may have acted, and what is needed to find that out must not be dropped before an operator has ended it",
		needs: []ability{operating},
		run: func(h *harness) {
			held := map[onejob.JobID]onejob.Attempt{}
			for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown} {
				job, a := h.inState("withdrawn-"+string(state), state)
				_, err := h.op.CancelJob(h.ctx, job.ID, someone)
				require.NoError(h, err)
				held[job.ID] = a
			}
			job, detached := h.inState("done", onejob.StateDetached)
			held[job.ID] = h.begin(job, "fallback")
			h.complete(detached, "result")

			h.inState("free", onejob.StateSucceeded)
			h.purge(1)
			for id, a := range held {
				now, list, err := h.op.Get(h.ctx, id)
				require.NoError(h, err)
				require.True(h, now.PurgedAt.IsZero())
				require.Equal(h, intent("").Params, now.Params)
				require.True(h, list[len(list)-1].State.Open())
				_, err = h.op.Refute(h.ctx, a.ID, someone)
				require.NoError(h, err)
			}
			h.purge(len(held))
			for id := range held {
				now, list, err := h.op.Get(h.ctx, id)
				require.NoError(h, err)
				require.False(h, now.PurgedAt.IsZero())
				if now.State == onejob.JobCanceled {
					require.Empty(h, list)
				} else {
					require.Len(h, list, 1)
				}
			}
		},
	},
	testCase{
		name:  "closes a detached attempt",
		why:   "a detached attempt blocks nothing, so it cannot hold a final job back; its late result is still told apart",
		needs: []ability{operating},
		run: func(h *harness) {
			job, a := h.start("k")
			_, err := h.jobs.SetExternalRef(h.ctx, a, "ref")
			require.NoError(h, err)
			_, err = h.jobs.MarkUnknown(h.ctx, a, errNoAnswer)
			require.NoError(h, err)
			_, err = h.op.DetachAttempt(h.ctx, a.ID, someone)
			require.NoError(h, err)
			winner := h.begin(job, "fallback")
			h.complete(winner, "the winner's")
			h.purge(1)

			list := h.attempts(job)
			require.Len(h, list, 2)
			require.Equal(h, onejob.StateCanceled, list[0].State)
			require.Equal(h, "purge", list[0].By)
			require.NotEmpty(h, list[0].Reason)
			require.False(h, list[0].EndedAt.IsZero())
			require.Empty(h, list[0].Cause)
			require.Empty(h, list[0].ExternalRef)

			_, err = h.jobs.Complete(h.ctx, a, []byte("the loser's"))
			require.Equal(h, winner.ID, h.refusal(err, onejob.ErrLateResult).Job.Attempt.ID)
			h.evidence(a, onejob.StateCanceled, "the loser's")
		},
	},
	testCase{
		name:  "never touches an open job",
		why:   "an open job is still to be executed, however old it is",
		needs: []ability{operating},
		run: func(h *harness) {
			var open []onejob.Job
			for _, state := range []onejob.State{
				onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached, onejob.StateFailed, onejob.StateCanceled,
			} {
				job, _ := h.inState(string(state), state)
				open = append(open, job)
			}
			open = append(open, h.create("pending"))
			h.inState("free", onejob.StateSucceeded)
			h.purge(1)
			for _, job := range open {
				now, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
				require.NoError(h, err)
				require.Equal(h, job, now)
			}
		},
	},
	testCase{
		name:  "keeps what it is not told to drop",
		why:   "nothing expires by default, and an age is counted from the end of the job",
		needs: []ability{operating},
		run: func(h *harness) {
			job, _ := h.inState("k", onejob.StateSucceeded)
			for _, r := range []onejob.Retention{
				{}, {Payloads: time.Hour}, {Tombstones: time.Microsecond}, {Payloads: time.Hour, Tombstones: time.Hour},
			} {
				n, err := h.op.Purge(h.ctx, r, 100)
				require.NoError(h, err)
				require.Zero(h, n)
			}
			now, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
			require.NoError(h, err)
			require.Equal(h, []byte("result"), now.Result)
			h.purge(1)
			n, err := h.op.Purge(h.ctx, onejob.Retention{Payloads: time.Microsecond, Tombstones: time.Hour}, 100)
			require.NoError(h, err)
			require.Zero(h, n)
		},
	},
	testCase{
		name:  "removes tombstones",
		why:   "after the second age the key is free again, and nothing of the job is left",
		needs: []ability{operating},
		run: func(h *harness) {
			job, _, winner := h.finished("k")
			h.purge(1)
			h.removeTombstones(1)
			_, _, err := h.op.Get(h.ctx, job.ID)
			require.ErrorIs(h, err, onejob.ErrNotFound)
			_, _, err = h.jobs.GetAttempt(h.ctx, winner.ID)
			require.ErrorIs(h, err, onejob.ErrNotFound)
			_, err = h.jobs.Complete(h.ctx, winner, []byte("result"))
			require.ErrorIs(h, err, onejob.ErrNotFound)
			again := h.create("k")
			require.NotEqual(h, job.ID, again.ID)
			h.complete(h.begin(again, "primary"), "result")
		},
	},
	testCase{
		name:  "does no more than its limit",
		why:   "a limit keeps the locks short, and the count tells whether to go on",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				h.inState(key, onejob.StateSucceeded)
			}
			h.purge(5)
			for _, key := range []string{"f", "g", "h", "i", "j"} {
				h.inState(key, onejob.StateSucceeded)
			}
			// 5 to remove, 5 to empty and then to remove.
			r := onejob.Retention{Payloads: time.Microsecond, Tombstones: time.Microsecond}
			for total, quiet := 0, 0; total < 15; total += quiet {
				n, err := h.op.Purge(h.ctx, r, 2)
				require.NoError(h, err)
				require.LessOrEqual(h, n, 2)
				quiet = n
			}
			n, err := h.op.Purge(h.ctx, r, 2)
			require.NoError(h, err)
			require.Zero(h, n)
			stats, err := h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.Zero(h, stats)
		},
	},
	testCase{
		name:  "refuses what cannot be meant",
		why:   "a slip in a retention must not remove what was to be kept",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, c := range []struct {
				r     onejob.Retention
				limit int
				field string
			}{
				{onejob.Retention{Payloads: -1}, 1, "Retention.Payloads"},
				{onejob.Retention{Tombstones: -1}, 1, "Retention.Tombstones"},
				{onejob.Retention{Payloads: 2, Tombstones: 1}, 1, "Retention.Tombstones"},
				{onejob.Retention{Payloads: 1}, 0, "limit"},
				{onejob.Retention{Payloads: 1}, -1, "limit"},
			} {
				_, err := h.op.Purge(h.ctx, c.r, c.limit)
				require.Equal(h, c.field, h.refusal(err, onejob.ErrInvalid).Field)
			}
		},
	},
)

// finished makes a completed job with attempts that failed, were canceled and
// came too late, and a winner that was in doubt.
func (h *harness) finished(key string) (job onejob.Job, losers []onejob.Attempt, winner onejob.Attempt) {
	h.Helper()
	job, failed := h.start(key)
	_, err := h.jobs.Fail(h.ctx, failed, onejob.NoEffect(errNoAnswer))
	require.NoError(h, err)
	canceled := h.begin(job, "primary")
	_, err = h.op.CancelAttempt(h.ctx, canceled.ID, someone)
	require.NoError(h, err)
	late := h.begin(job, "primary")
	_, err = h.op.DetachAttempt(h.ctx, late.ID, someone)
	require.NoError(h, err)
	winner = h.begin(job, "fallback")
	_, err = h.jobs.SetExternalRef(h.ctx, winner, "ref")
	require.NoError(h, err)
	_, err = h.jobs.MarkUnknown(h.ctx, winner, errNoAnswer)
	require.NoError(h, err)
	job = h.complete(winner, "result")
	_, err = h.jobs.Complete(h.ctx, late, []byte("the loser's"))
	require.ErrorIs(h, err, onejob.ErrLateResult)
	return job, []onejob.Attempt{failed, canceled, late}, winner
}
