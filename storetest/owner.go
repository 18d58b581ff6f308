package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("owners",
	testCase{
		name: "another owner's job is not there",
		why:  "to another owner a job in any state is the same ErrNotFound as none, byte for byte: even that it exists is nobody else's business",
		run: func(h *harness) {
			for status := range jobStatuses {
				h.hiddenFromOthers(h.ctx, h.inJobStatus(string(status), status))
			}
		},
	},
	testCase{
		name:  "another owner's purged job is not there",
		why:   "a tombstone keeps its owner",
		needs: []ability{operating},
		run: func(h *harness) {
			job := h.inJobStatus("k", onejob.StatusCompleted)
			h.purge(1)
			h.hiddenFromOthers(h.ctx, h.holder(job.Intent))
		},
	},
	testCase{
		name:  "another owner's job is not there within a transaction",
		why:   "reads under Tx go another way to the database and must ask for the owner too",
		needs: []ability{transactions},
		run: func(h *harness) {
			job, _ := h.start("k")
			var other [3]error
			err := h.jobs.Tx(h.ctx, func(ctx context.Context, _ *sql.Tx) error {
				_, other[0] = h.jobs.Get(ctx, "owner-2", job.ID)
				_, other[1] = h.jobs.GetByKey(ctx, "owner-2", "k")
				_, other[2] = h.jobs.Attempts(ctx, "owner-2", job.ID)
				return nil
			})
			require.NoError(h, err)
			for _, err := range other {
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
		},
	},
	testCase{
		name: "two owners with one key have two jobs",
		why:  "a key belongs to its owner: neither Create nor Start of another ever meets it, also at the same instant and with other input",
		run: func(h *harness) {
			jobs := make([]onejob.Job, 64)
			errs := make([]error, len(jobs))
			together(len(jobs), func(i int) {
				in := intent("k")
				if i%2 == 1 {
					in = otherInput("k")
					in.Owner = "owner-2"
				}
				jobs[i], _, errs[i] = h.jobs.Create(h.ctx, in)
			})
			for i, job := range jobs {
				require.NoError(h, errs[i])
				require.Equal(h, jobs[i%2].ID, job.ID)
				require.Equal(h, fmt.Sprint("owner-", i%2+1), job.Owner)
			}
			require.NotEqual(h, jobs[0].ID, jobs[1].ID)
			h.complete(h.begin(jobs[0], "primary"), "result")
			other, a, err := h.jobs.Start(h.ctx, jobs[1].Intent, try("primary"))
			require.NoError(h, err)
			require.Equal(h, jobs[1].ID, other.ID)
			require.Equal(h, 1, a.Number)
			require.Equal(h, onejob.StatusRunning, h.holder(jobs[1].Intent).Status())
			require.Equal(h, onejob.StatusCompleted, h.holder(jobs[0].Intent).Status())
		},
	},
	testCase{
		name: "a malformed ID is no job",
		why:  "what is not an ID in the usual spelling is ErrNotFound, on every database alike, and never an error of the database",
		run: func(h *harness) {
			job, a := h.start("k")
			for _, id := range []string{
				"", "garbage", strings.ToUpper(string(job.ID)), string(job.ID[:35]), string(job.ID) + "0",
				"{" + string(job.ID) + "}", " " + string(job.ID), strings.ReplaceAll(string(job.ID), "-", ""),
				string(job.ID[:35]) + "g", string(job.ID[:35]) + "\x00", strings.Repeat("-", 36),
				"' OR '1'='1", "'; DROP TABLE jobs; --                ", string(a.ID),
			} {
				h.noJob(onejob.JobID(id))
			}
			for _, id := range []string{
				"", string(job.ID), strings.ToUpper(string(a.ID)), string(a.ID[:52]), string(a.ID) + "0",
				string(a.ID[:52]) + "g", string(a.ID[:52]) + "'", strings.Replace(string(a.ID), "-", "_", 5),
			} {
				h.noAttempt(onejob.AttemptID(id))
			}
			require.Equal(h, onejob.StatusRunning, h.holder(job.Intent).Status())
		},
	},
	testCase{
		name: "an ID of nothing is no job",
		why:  "a well-formed ID that was never stored is the same ErrNotFound",
		run: func(h *harness) {
			_, a := h.start("k")
			h.noJob(nowhere)
			h.noAttempt(onejob.AttemptID(string(nowhere) + "-0123456789abcdef"))
			own := "0123456789abcdef"
			if strings.HasSuffix(string(a.ID), own) {
				own = "fedcba9876543210"
			}
			h.noAttempt(onejob.AttemptID(string(a.JobID) + "-" + own))
		},
	},
	testCase{
		name: "keys are compared byte by byte",
		why:  "nothing is folded, trimmed, normalized or read as a number or as SQL: each of these is a key of its own and comes back as it was",
		run: func(h *harness) {
			h.distinctTexts(255, func(text string) onejob.Intent { return intent(text) })
		},
	},
	testCase{
		name: "owners are compared byte by byte",
		why:  "the same holds for owners, or one of them would see another's jobs",
		run: func(h *harness) {
			h.distinctTexts(128, func(text string) onejob.Intent {
				in := intent("k")
				in.Owner = text
				return in
			})
		},
	},
)

// nowhere is the ID of no job.
const nowhere onejob.JobID = "01900000-0000-7000-8000-000000000000"

// hiddenFromOthers requires that owner-2 gets of the job what there is of none.
func (h *harness) hiddenFromOthers(ctx context.Context, job onejob.Job) {
	h.Helper()
	attempts := h.attempts(job)
	own := onejob.AttemptID(string(nowhere) + "-0123456789abcdef")
	theirs := onejob.AttemptID(string(job.ID) + "-0123456789abcdef")
	if len(attempts) > 0 {
		theirs = attempts[0].ID
	}
	repeat := func(id onejob.AttemptID) onejob.Try {
		t := try("primary")
		t.ID = id
		return t
	}
	foreign, none := job, job
	foreign.Owner = "owner-2"
	none.ID = nowhere
	for _, ask := range []func(there bool) (any, error){
		func(there bool) (any, error) { return h.jobs.Get(ctx, "owner-2", ownerPick(there, job.ID, nowhere)) },
		func(there bool) (any, error) {
			return h.jobs.GetByKey(ctx, "owner-2", ownerPick(there, job.Key, "none"))
		},
		func(there bool) (any, error) {
			list, err := h.jobs.Attempts(ctx, "owner-2", ownerPick(there, job.ID, nowhere))
			return ownerPick(len(list) == 0, any(onejob.Job{}), any(list)), err
		},
		func(there bool) (any, error) {
			return h.jobs.BeginAttempt(ctx, ownerPick(there, foreign, none), try("primary"))
		},
		func(there bool) (any, error) {
			return h.jobs.BeginAttempt(ctx, ownerPick(there, foreign, none), repeat(ownerPick(there, theirs, own)))
		},
	} {
		got, err := ask(true)
		nothing, missing := ask(false)
		require.Equal(h, nothing, got)
		require.Equal(h, missing.Error(), err.Error())
		e := h.refusal(err, onejob.ErrNotFound)
		require.Equal(h, h.refusal(missing, onejob.ErrNotFound), e)
		require.Equal(h, onejob.Job{}, e.Job)
		require.Nil(h, e.Attempt)
		require.NoError(h, e.Cause)
		for _, told := range []string{string(job.ID), string(nowhere), job.Key, "owner-"} {
			require.NotContains(h, err.Error(), told)
		}
	}
	require.Equal(h, job, h.holder(job.Intent))
	require.Equal(h, attempts, h.attempts(job))
}

func ownerPick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// noJob requires that every method says of the ID that there is no job.
func (h *harness) noJob(id onejob.JobID) {
	h.Helper()
	_, err := h.jobs.Get(h.ctx, "owner-1", id)
	require.ErrorIs(h, err, onejob.ErrNotFound)
	_, err = h.jobs.Attempts(h.ctx, "owner-1", id)
	require.ErrorIs(h, err, onejob.ErrNotFound)
	_, err = h.jobs.BeginAttempt(h.ctx, onejob.Job{ID: id, Intent: intent("k")}, try("primary"))
	require.ErrorIs(h, err, onejob.ErrNotFound)
	_, _, err = h.op.Get(h.ctx, id)
	require.ErrorIs(h, err, onejob.ErrNotFound)
	_, err = h.op.CancelJob(h.ctx, id, someone)
	require.ErrorIs(h, err, onejob.ErrNotFound)
}

// noAttempt requires that every method says of the ID that there is no attempt.
func (h *harness) noAttempt(id onejob.AttemptID) {
	h.Helper()
	a := onejob.Attempt{ID: id, JobVersion: 1}
	var errs [9]error
	_, _, errs[0] = h.jobs.GetAttempt(h.ctx, id)
	_, errs[1] = h.jobs.Complete(h.ctx, a, nil)
	_, errs[2] = h.jobs.Fail(h.ctx, a, context.Canceled)
	_, errs[3] = h.jobs.MarkUnknown(h.ctx, a, nil)
	_, errs[4] = h.jobs.SetExternalRef(h.ctx, a, "ref")
	_, errs[5] = h.op.Refute(h.ctx, id, someone)
	_, errs[6] = h.op.Confirm(h.ctx, id, nil, someone)
	_, errs[7] = h.op.CancelAttempt(h.ctx, id, someone)
	_, errs[8] = h.op.DetachAttempt(h.ctx, id, someone)
	for i, err := range errs {
		require.ErrorIs(h, err, onejob.ErrNotFound, "%d: %q", i, id)
	}
}

// keyTexts are pairwise different, and some equal to a careless eye.
var keyTexts = []string{
	"a", "A", "a ", " a", "a  ", "a\u00a0", "a\u200b", "\u00e9", "e\u0301", "E\u0301", "\u00df", "ss", "\u1e9e",
	"k", "\u212a", "i", "\u0131", "I", "\u0130", "\ufb00", "ff", "\u03c3", "\u03c2", "\ufffd", "\ufeffa",
	"1", "01", "1.0", "1e0", "+1", "-0", "0", "0x1", "null", "NULL", "true", "TRUE", "NaN",
	"'", "''", `"`, `""`, `\`, `\\`, `\x41`, "%", "%%", "_", "*", "?", "?1", "$1", ":a", "@a", "x'61'", "E'a'",
	"'; DROP TABLE jobs; --", "' OR '1'='1", "{job}", "{schema}", "{p}", "/* a */", "--", ";",
	"😀", "👩‍👩‍👧", "\U0010ffff", "日本", " ",
}

// distinctTexts requires that each text makes a job of its own, which is found again
// by it.
func (h *harness) distinctTexts(limit int, in func(text string) onejob.Intent) {
	h.Helper()
	texts := append([]string{
		strings.Repeat("é", limit/2) + strings.Repeat("x", limit%2),
		strings.Repeat("日", limit/3) + strings.Repeat("y", limit%3),
		strings.Repeat("😀", limit/4) + strings.Repeat("z", limit%4),
		strings.Repeat("'", limit), strings.Repeat(" ", limit),
	}, keyTexts...)
	jobs := make([]onejob.Job, len(texts))
	for i, text := range texts {
		var created bool
		var err error
		jobs[i], created, err = h.jobs.Create(h.ctx, in(text))
		require.NoError(h, err, "%q", text)
		require.True(h, created, "%q", text)
	}
	for i, text := range texts {
		want := in(text)
		job := h.holder(want)
		require.Equal(h, jobs[i], job, "%q", text)
		require.Equal(h, want.Owner, job.Owner)
		require.Equal(h, want.Key, job.Key)
		byID, err := h.jobs.Get(h.ctx, want.Owner, job.ID)
		require.NoError(h, err)
		require.Equal(h, job, byID)
		_, created, err := h.jobs.Create(h.ctx, want)
		require.NoError(h, err)
		require.False(h, created, "%q", text)
	}
}
