package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// becomes is what an operation makes of an attempt, and with what answer.
type becomes struct {
	state onejob.State
	err   error // nil: success
}

// transition is an operation and what it makes of each state, in the order of
// allStates.
type transition struct {
	name  string
	after [7]becomes
	run   func(h *harness, a onejob.Attempt) error
}

// Short names for what the table holds.
const (
	isUnknown   = onejob.StateUnknown
	isDetached  = onejob.StateDetached
	isSucceeded = onejob.StateSucceeded
	isFailed    = onejob.StateFailed
	isCanceled  = onejob.StateCanceled
	isLate      = onejob.StateLate
	isStarted   = onejob.StateStarted
)

var (
	errEnded    = onejob.ErrAttemptEnded
	errDoubt    = onejob.ErrInDoubt
	errLate     = onejob.ErrLateResult
	errMismatch = onejob.ErrResultMismatch
	errDone     = onejob.ErrCompleted
)

// transitions are the operations on an attempt by the states that they find:
// started, unknown, detached, succeeded, failed, canceled, late.
var transitions = []transition{
	{"Complete", [7]becomes{{isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isFailed, errLate}, {isCanceled, errLate}, {isLate, errLate}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.jobs.Complete(h.ctx, a, []byte("result"))) }},
	{"Complete with another result", [7]becomes{{isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, errMismatch}, {isFailed, errLate}, {isCanceled, errLate}, {isLate, errLate}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.jobs.Complete(h.ctx, a, []byte("other"))) }},
	{"Fail with proof", [7]becomes{{isFailed, nil}, {isFailed, nil}, {isFailed, nil}, {isSucceeded, errEnded}, {isFailed, nil}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error {
			return errOf(h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused"))))
		}},
	{"Fail", [7]becomes{{isUnknown, nil}, {isUnknown, nil}, {isDetached, nil}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error {
			return errOf(h.jobs.Fail(h.ctx, a, context.DeadlineExceeded))
		}},
	{"MarkUnknown", [7]becomes{{isUnknown, nil}, {isUnknown, nil}, {isDetached, nil}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.jobs.MarkUnknown(h.ctx, a, nil)) }},
	{"Extend", [7]becomes{{isStarted, nil}, {isUnknown, errDoubt}, {isDetached, errEnded}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.jobs.Extend(h.ctx, a, time.Minute)) }},
	{"SetExternalRef", [7]becomes{{isStarted, nil}, {isUnknown, nil}, {isDetached, nil}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.jobs.SetExternalRef(h.ctx, a, "ref")) }},
	{"Confirm", [7]becomes{{isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errDone}},
		func(h *harness, a onejob.Attempt) error {
			return errOf(h.op.Confirm(h.ctx, a.ID, []byte("result"), someone))
		}},
	{"Confirm another result", [7]becomes{{isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, nil}, {isSucceeded, errMismatch}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errDone}},
		func(h *harness, a onejob.Attempt) error {
			return errOf(h.op.Confirm(h.ctx, a.ID, []byte("other"), someone))
		}},
	{"Refute", [7]becomes{{isFailed, nil}, {isFailed, nil}, {isFailed, nil}, {isSucceeded, errEnded}, {isFailed, nil}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.op.Refute(h.ctx, a.ID, someone)) }},
	{"CancelAttempt", [7]becomes{{isCanceled, nil}, {isCanceled, nil}, {isCanceled, nil}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, nil}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.op.CancelAttempt(h.ctx, a.ID, someone)) }},
	{"DetachAttempt", [7]becomes{{isDetached, nil}, {isDetached, nil}, {isDetached, nil}, {isSucceeded, errEnded}, {isFailed, errEnded}, {isCanceled, errEnded}, {isLate, errEnded}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.op.DetachAttempt(h.ctx, a.ID, someone)) }},
	{"CancelJob", [7]becomes{{isStarted, nil}, {isUnknown, nil}, {isDetached, nil}, {isSucceeded, errDone}, {isFailed, nil}, {isCanceled, nil}, {isLate, errDone}},
		func(h *harness, a onejob.Attempt) error { return errOf(h.op.CancelJob(h.ctx, a.JobID, someone)) }},
}

func errOf[T any](_ T, err error) error { return err }

var _ = register("transitions",
	testCase{
		name: "each operation on each state",
		why:  "an attempt ends once, each refusal names what stands, and repeating an operation gives the same answer and changes nothing",
		run: func(h *harness) {
			for _, op := range transitions {
				for i, from := range allStates {
					h.transits(op, from, op.after[i])
				}
			}
		},
	},
	testCase{
		name: "each operation on an attempt that is not there",
		why:  "an ID that names nothing is ErrNotFound, also one that is malformed or that an existing job lacks",
		run: func(h *harness) {
			job, a := h.start("k")
			for _, id := range []onejob.AttemptID{
				"", "x", onejob.AttemptID(job.ID), a.ID[:len(a.ID)-1], a.ID + "0",
				onejob.AttemptID(job.ID) + "-0123456789abcdef",
				"00000000-0000-7000-8000-000000000000-0123456789abcdef",
				onejob.AttemptID(job.ID) + "-0123456789ABCDEF",
			} {
				for _, op := range transitions {
					if op.name == "CancelJob" {
						continue
					}
					err := op.run(h, onejob.Attempt{ID: id, JobVersion: 1})
					require.ErrorIs(h, err, onejob.ErrNotFound, "%s %q", op.name, id)
				}
			}
			for _, id := range []onejob.JobID{"", "x", "00000000-0000-7000-8000-000000000000"} {
				_, err := h.op.CancelJob(h.ctx, id, someone)
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
			_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			require.Equal(h, a, now)
		},
	},
)

// transits requires the cell of the table, twice.
func (h *harness) transits(op transition, from onejob.State, want becomes) {
	h.Helper()
	cell := op.name + " on " + string(from)
	_, a := h.inState(cell, from)
	var last onejob.Attempt
	for i := range 2 {
		err := op.run(h, a)
		if want.err == nil {
			require.NoError(h, err, cell)
		} else {
			e := h.refusal(err, want.err)
			require.Equal(h, a.JobID, e.Job.ID, cell)
			require.NotNil(h, e.Attempt, cell)
			if e.Attempt.ID == a.ID {
				require.Equal(h, want.state, e.Attempt.State, cell)
			}
		}
		job, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
		require.NoError(h, err)
		require.Equal(h, want.state, now.State, cell)
		if from == want.state && want.err != nil {
			now.LateAt, now.LateSize, now.LateDigest = a.LateAt, a.LateSize, a.LateDigest
			require.Equal(h, a, now, cell)
		}
		if i == 1 {
			require.Equal(h, last, now, cell)
		}
		last = now
		h.lawful(job, now)
	}
}

// lawful requires of a job with one or two attempts what its states imply.
func (h *harness) lawful(job onejob.Job, a onejob.Attempt) {
	h.Helper()
	require.Equal(h, a.State.Open() || a.State == onejob.StateDetached, a.EndedAt.IsZero())
	if a.State == onejob.StateSucceeded {
		require.Equal(h, onejob.JobCompleted, job.State)
		require.Equal(h, a, *job.Attempt)
	}
	require.Equal(h, job.State == onejob.JobOpen, job.EndedAt.IsZero())
	require.Equal(h, job.State == onejob.JobCompleted, job.Result != nil)
	want := int64(2)
	if job.State == onejob.JobOpen {
		want = 1
	}
	require.Equal(h, want, job.Version)
}
