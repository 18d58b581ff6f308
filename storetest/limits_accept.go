package storetest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// filled is a text of so many bytes, which end in several to a rune.
func filled(size int) string {
	return strings.Repeat("x", size%4) + strings.Repeat("😀", size/4)
}

var limitsAccepted = []testCase{
	{
		name: "texts of the limit are kept exactly",
		why:  "a limit is in bytes and is itself allowed, in each field at once",
		run: func(h *harness) {
			in := onejob.Intent{Owner: filled(128), Key: filled(255), Kind: filled(63), Target: filled(63)}
			job, a, err := h.jobs.Start(h.ctx, in, onejob.Try{Provider: filled(63), Timeout: time.Hour})
			require.NoError(h, err)
			require.Equal(h, filled(63), a.Provider)
			a, err = h.jobs.SetExternalRef(h.ctx, a, filled(255))
			require.NoError(h, err)
			_, err = h.op.DetachAttempt(h.ctx, a.ID, onejob.Decision{By: filled(128), Reason: filled(4096)})
			require.NoError(h, err)
			stored := h.holder(in)
			in.Params = []byte{}
			require.Empty(h, stored.Params)
			stored.Params = in.Params
			require.Equal(h, in, stored.Intent)
			require.Equal(h, job.ID, stored.ID)
			list := h.attempts(stored)
			require.Equal(h, filled(63), list[0].Provider)
			require.Equal(h, filled(255), list[0].ExternalRef)
			require.Equal(h, onejob.Decision{By: filled(128), Reason: filled(4096)}, list[0].Decision)
		},
	},
	{
		name: "JSON is kept exactly",
		why:  "what was given comes back byte for byte, whatever a database would make of it",
		run: func(h *harness) {
			for i, params := range []string{
				`1e400`, `-1E-400`, `9007199254740993`, `1`, `1.0`, `-0`, `0.10`, strings.Repeat("9", 5000),
				`{"b": 1, "a" : 2}`, "\t[ 1 , 2 ]\r\n", `"\u0000"`, `"\ud83d\ude00 \/ 😀"`, `"\\x00"`, `null`, `""`, `{}`,
				`{"":{"":0}}`, "\"\u007f\u2028\u2029\"", `{"a":1,"A":2}`, `{"é":1,"e\u0301":2}`,
				strings.Repeat("[", 64) + strings.Repeat("]", 64),
				strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64),
				`"` + strings.Repeat("x", 256<<10-2) + `"`,
			} {
				in := intent(fmt.Sprint("k", i))
				in.Params = []byte(params)
				job, created, err := h.jobs.Create(h.ctx, in)
				require.NoError(h, err)
				require.True(h, created)
				require.True(h, bytes.Equal(in.Params, job.Params))
				require.True(h, bytes.Equal(in.Params, h.holder(in).Params), "params %d", i)
				again, created, err := h.jobs.Create(h.ctx, in)
				require.NoError(h, err)
				require.False(h, created)
				require.Equal(h, job.ID, again.ID)
			}
		},
	},
	{
		name: "results are kept exactly",
		why:  "a result is bytes: of the limit, not UTF-8, with NULs, all come back as they were",
		run: func(h *harness) {
			all := make([]byte, 256)
			for i := range all {
				all[i] = byte(i)
			}
			for i, result := range [][]byte{all, {0}, []byte("null"), []byte(`\x00`), bytes.Repeat(all, 1<<20/256)} {
				job, a := h.start(fmt.Sprint("k", i))
				done, err := h.jobs.Complete(h.ctx, a, result)
				require.NoError(h, err)
				require.True(h, bytes.Equal(result, done.Result))
				require.True(h, bytes.Equal(result, h.holder(job.Intent).Result), "result %d", i)
				again, err := h.jobs.Complete(h.ctx, a, result)
				require.NoError(h, err)
				require.True(h, bytes.Equal(result, again.Result))
			}
		},
	},
	{
		name: "an empty result is a result",
		why:  "nil and empty are the same, kept as empty and not nil, which would mean that there is none",
		run: func(h *harness) {
			for i, result := range [][]byte{nil, {}} {
				job, a := h.start(fmt.Sprint("k", i))
				done, err := h.jobs.Complete(h.ctx, a, result)
				require.NoError(h, err)
				require.Equal(h, []byte{}, done.Result)
				for _, again := range [][]byte{nil, {}} {
					same, err := h.jobs.Complete(h.ctx, a, again)
					require.NoError(h, err)
					require.Equal(h, []byte{}, same.Result)
				}
				require.Equal(h, []byte{}, h.holder(job.Intent).Result)
				byID, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
				require.NoError(h, err)
				require.Equal(h, []byte{}, byID.Result)
				_, err = h.jobs.BeginAttempt(h.ctx, job, try("primary"))
				require.Equal(h, []byte{}, h.refusal(err, onejob.ErrCompleted).Job.Result)
				_, err = h.jobs.Complete(h.ctx, a, []byte{0})
				require.Equal(h, []byte{}, h.refusal(err, onejob.ErrResultMismatch).Job.Result)
				_, listed, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, onejob.StateSucceeded, listed.State)
			}
		},
	},
	{
		name: "an open job has no result",
		why:  "nil says that there is none yet",
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateFailed} {
				job, _ := h.inState(string(state), state)
				require.Nil(h, job.Result)
				require.Nil(h, h.holder(job.Intent).Result)
			}
		},
	},
	{
		name: "the limits of payloads are options",
		why:  "a limit that the host sets holds to the byte, for params and for results",
		run: func(h *harness) {
			h.use(onejob.Options{MaxParams: 10, MaxResult: 20})
			h.payloadLimits("k", 10, 20)
		},
	},
	{
		name: "no limit of payloads is above 16 MiB",
		why:  "a larger option counts as 16 MiB, which is what the databases' own checks hold",
		run: func(h *harness) {
			h.use(onejob.Options{MaxParams: 17 << 20, MaxResult: math.MaxInt})
			h.payloadLimits("k", 16<<20, 16<<20)
		},
	},
	{
		name: "zero and negative options mean the defaults",
		why:  "an option that was left out must not lock everything out",
		run: func(h *harness) {
			h.use(onejob.Options{MaxParams: -1, MaxResult: -1, MaxAttempts: -1})
			h.payloadLimits("k", 256<<10, 1<<20)
		},
	},
	{
		name: "any positive timeout is taken",
		why:  "the shortest is kept as a microsecond, the longest ends after it began, and neither is an error of the database",
		run: func(h *harness) {
			for i, d := range []time.Duration{1, time.Microsecond, time.Microsecond + 1, 100 * 365 * 24 * time.Hour, math.MaxInt64 - 1000, math.MaxInt64} {
				_, err := h.jobs.BeginAttempt(h.ctx, h.create(fmt.Sprint("k", i)), onejob.Try{Provider: "primary", Timeout: d})
				if d < time.Millisecond {
					// It may be over before its own answer is.
					require.NotErrorIs(h, err, onejob.ErrUnavailable, d)
				} else {
					require.NoError(h, err, d)
				}
				a := h.attempts(h.holder(intent(fmt.Sprint("k", i))))[0]
				require.Positive(h, a.Timeout)
				require.True(h, a.Deadline.After(a.StartedAt))
				require.InDelta(h, float64(d), float64(a.Timeout), float64(2*time.Microsecond))
			}
		},
	},
	{
		name: "any positive extension is taken",
		why:  "the longest moves the deadline to after now, like a long timeout",
		run: func(h *harness) {
			for i, d := range []time.Duration{1, 2 * time.Hour, 100 * 365 * 24 * time.Hour, math.MaxInt64} {
				_, a := h.start(fmt.Sprint("k", i))
				more, err := h.jobs.Extend(h.ctx, a, d)
				require.NoError(h, err, d)
				require.False(h, more.Deadline.Before(a.Deadline))
				require.False(h, more.Deadline.Before(a.StartedAt.Add(d-2*time.Microsecond)), d)
				require.Equal(h, onejob.StateStarted, more.State)
			}
		},
	},
}

// payloadLimits requires that params and results of the limits are kept, and
// that one byte more is refused.
func (h *harness) payloadLimits(key string, params, result int) {
	h.Helper()
	in := intent(key)
	in.Opaque = true
	in.Params = bytes.Repeat([]byte{0xff}, params+1)
	_, _, err := h.jobs.Create(h.ctx, in)
	require.Equal(h, "Intent.Params", h.refusal(err, onejob.ErrInvalid).Field)
	require.Contains(h, err.Error(), fmt.Sprint(params+1))
	in.Params = in.Params[:params]
	job, a, err := h.jobs.Start(h.ctx, in, try("primary"))
	require.NoError(h, err)
	big := bytes.Repeat([]byte{0xfe}, result+1)
	_, err = h.jobs.Complete(h.ctx, a, big)
	require.Equal(h, "result", h.refusal(err, onejob.ErrInvalid).Field)
	require.Contains(h, err.Error(), fmt.Sprint(result+1))
	require.Equal(h, onejob.StatusRunning, h.holder(in).Status())
	_, err = h.jobs.Complete(h.ctx, a, big[:result])
	require.NoError(h, err)
	stored := h.holder(in)
	require.Equal(h, job.ID, stored.ID)
	require.True(h, bytes.Equal(in.Params, stored.Params))
	require.True(h, bytes.Equal(big[:result], stored.Result))
}
