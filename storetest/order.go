package storetest

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("order of return",
	testCase{
		name: "canceled, returns after its successor",
		why:  "what the operator canceled cannot win; its result is dropped, and what is known of it is kept",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateCanceled)
			b := h.begin(job, "fallback")
			done := h.complete(b, "B's")
			h.loses(a, onejob.StateCanceled, done)
		},
	},
	testCase{
		name: "canceled, returns before its successor",
		why:  "a canceled attempt cannot win even if it is the first to return: the successor still decides",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateCanceled)
			b := h.begin(job, "fallback")
			running, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
			require.NoError(h, err)
			require.Equal(h, onejob.StatusRunning, running.Status())
			h.loses(a, onejob.StateCanceled, running)
			done := h.complete(b, "B's")
			require.Equal(h, b.ID, done.Attempt.ID)
			require.Equal(h, "B's", string(done.Result))
		},
	},
	testCase{
		name: "canceled, returns when nobody else is there",
		why:  "a canceled attempt cannot win even on a job that is free: an operator has said so",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateCanceled)
			h.loses(a, onejob.StateCanceled, job)
			h.complete(h.begin(job, "fallback"), "B's")
		},
	},
	testCase{
		name: "detached, returns first",
		why:  "a detached attempt may win, and then its successor loses although it is the one that blocks",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			b := h.begin(job, "fallback")
			done := h.complete(a, "A's")
			require.Equal(h, a.ID, done.Attempt.ID)
			require.Equal(h, onejob.StateSucceeded, done.Attempt.State)
			h.loses(b, onejob.StateLate, done)
		},
	},
	testCase{
		name: "detached, returns second",
		why:  "the second to return loses, whoever it is, also the one that the user asked for in the first place",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			b := h.begin(job, "fallback")
			done := h.complete(b, "B's")
			require.Equal(h, b.ID, done.Attempt.ID)
			h.loses(a, onejob.StateLate, done)
		},
	},
	testCase{
		name: "detached, returns before its successor begins",
		why:  "who waited no longer finds the result there and calls nobody",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			done := h.complete(a, "A's")
			_, err := h.jobs.BeginAttempt(h.ctx, job, try("fallback"))
			e := h.refusal(err, onejob.ErrCompleted)
			require.Equal(h, done, e.Job)
		},
	},
	testCase{
		name: "doubt about a detached attempt while its successor is open",
		why:  "set to unknown it would be a second open attempt: it keeps its state and gets the cause",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			b := h.begin(job, "fallback")
			now, err := h.jobs.MarkUnknown(h.ctx, a, errors.New("no answer"))
			require.NoError(h, err)
			require.Equal(h, b.ID, now.Attempt.ID)
			now, err = h.jobs.Fail(h.ctx, a, errors.New("no answer either"))
			require.NoError(h, err)
			require.Equal(h, onejob.StatusRunning, now.Status())
			want := a
			want.Cause = "no answer"
			require.Equal(h, want, h.attempts(job)[0])
			h.complete(a, "A's")
		},
	},
	testCase{
		name: "proof for a detached attempt while its successor is open",
		why:  "what is known ends it, and the successor goes on",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			b := h.begin(job, "fallback")
			now, err := h.jobs.Fail(h.ctx, a, onejob.NoEffect(errors.New("refused")))
			require.NoError(h, err)
			require.Equal(h, b.ID, now.Attempt.ID)
			failed := h.attempts(job)[0]
			require.Equal(h, onejob.StateFailed, failed.State)
			require.Equal(h, "refused", failed.Cause)
			require.Equal(h, someone, failed.Decision)
			h.complete(b, "B's")
		},
	},
	testCase{
		name: "unknown, returns at last",
		why:  "a result that nobody waited for still wins while nobody else was let in",
		run: func(h *harness) {
			_, a := h.inState("k", onejob.StateUnknown)
			done := h.complete(a, "A's")
			require.Equal(h, onejob.StatusCompleted, done.Status())
			require.Equal(h, "A's", string(done.Result))
			require.Equal(h, "no answer", done.Attempt.Cause)
		},
	},
	testCase{
		name: "refuted, returns after all",
		why:  "whoever said that it had no effect was wrong, and may owe a refund: the evidence tells",
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateFailed)
			h.loses(a, onejob.StateFailed, job)
			done := h.complete(h.begin(job, "fallback"), "B's")
			require.Equal(h, "B's", string(done.Result))
		},
	},
	testCase{
		name: "an attempt value of another version",
		why:  "the version that travels with the attempt is the fencing token: one that does not fit was read from another world",
		run: func(h *harness) {
			for _, version := range []int64{2, 1 << 40} {
				job, a := h.start("version " + strconv.FormatInt(version, 10))
				a.JobVersion = version
				h.loses(a, onejob.StateLate, job)
				free, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
				require.NoError(h, err)
				require.Equal(h, onejob.StatusPending, free.Status())
			}
			_, a := h.start("no version")
			for _, version := range []int64{0, -1} {
				a.JobVersion = version
				_, err := h.jobs.Complete(h.ctx, a, nil)
				require.Equal(h, "Attempt.JobVersion", h.refusal(err, onejob.ErrInvalid).Field)
			}
			a.JobVersion = 1
			h.complete(a, "result")
		},
	},
	testCase{
		name: "an attempt value of another job",
		why:  "an ID and a job that do not belong together are a caller's mistake, not a race",
		run: func(h *harness) {
			_, a := h.start("k")
			other := h.create("other")
			a.JobID = other.ID
			_, err := h.jobs.Complete(h.ctx, a, nil)
			require.Equal(h, "Attempt.JobID", h.refusal(err, onejob.ErrInvalid).Field)
		},
	},
)

// canary is what must be found nowhere once a result that holds it was dropped.
const canary = "canary-c6a1f0"

// loses completes the attempt, which must lose and end in the state, and leave
// behind the evidence and one line, and nothing of its result. want is the job
// as it stands, before and after; only an open attempt that was the loser's
// own may be gone from it.
func (h *harness) loses(a onejob.Attempt, state onejob.State, want onejob.Job) {
	h.Helper()
	_, before, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	lines := h.lateLines()
	result := []byte(canary + strings.Repeat("x", 10))

	job, err := h.jobs.Complete(h.ctx, a, result)
	e := h.refusal(err, onejob.ErrLateResult)
	require.Equal(h, job, e.Job)
	require.NotContains(h, err.Error(), canary)

	if want.Attempt != nil && want.Attempt.ID == a.ID {
		want.Attempt = nil
	}
	require.Equal(h, want, job)
	if want.State == onejob.JobCompleted {
		require.Equal(h, want.Attempt.ID, e.Attempt.ID)
		require.Equal(h, onejob.StateSucceeded, e.Attempt.State)
		require.NotEmpty(h, e.Job.Result)
	} else {
		require.Equal(h, a.ID, e.Attempt.ID)
		require.Equal(h, state, e.Attempt.State)
	}

	read, after, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, want, read)
	require.Equal(h, state, after.State)
	require.False(h, after.LateAt.IsZero())
	require.EqualValues(h, len(result), after.LateSize)
	require.Equal(h, sha256.Sum256(result), after.LateDigest)
	h.onlyEvidence(before, after)

	now := h.lateLines()
	require.Len(h, now, len(lines)+1)
	h.tells(now[len(lines)], a, want, len(result))
}

// onlyEvidence requires that the loss changed nothing else of the attempt.
func (h *harness) onlyEvidence(before, after onejob.Attempt) {
	h.Helper()
	after.LateAt, after.LateSize, after.LateDigest = before.LateAt, before.LateSize, before.LateDigest
	if before.State != after.State {
		require.False(h, after.EndedAt.IsZero())
		after.State, after.EndedAt = before.State, before.EndedAt
	}
	require.Equal(h, before, after)
}

// lateLines are the lines that were logged for results that came too late.
func (h *harness) lateLines() []string {
	var lines []string
	for line := range strings.Lines(h.log.String()) {
		if strings.Contains(line, "late result") {
			lines = append(lines, line)
		}
	}
	return lines
}

// tells requires that the line says what a person needs to look into it, and
// nothing of what was in the job.
func (h *harness) tells(line string, a onejob.Attempt, job onejob.Job, size int) {
	h.Helper()
	require.Contains(h, line, "job="+string(job.ID)+" ")
	require.Contains(h, line, "attempt="+string(a.ID)+" ")
	require.Contains(h, line, "size="+strconv.Itoa(size)+" ")
	require.Contains(h, line, "age=")
	if job.State == onejob.JobCompleted {
		require.Contains(h, line, "winner="+string(job.Attempt.ID)+" ")
	} else {
		require.NotContains(h, line, "winner=")
	}
	for _, secret := range []string{canary, job.Owner, "amount", "currency"} {
		require.NotContains(h, line, secret)
	}
}
