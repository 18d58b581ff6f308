package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// settlings are the steps that bring what a caller knows, and the states that
// they may leave a started attempt in.
var settlings = []struct {
	name  string
	after onejob.State
	run   func(ctx context.Context, h *harness, a onejob.Attempt) (onejob.Job, error)
}{
	{"Complete", onejob.StateSucceeded, func(ctx context.Context, h *harness, a onejob.Attempt) (onejob.Job, error) {
		return h.jobs.Complete(ctx, a, []byte("result"))
	}},
	{"Fail with proof", onejob.StateFailed, func(ctx context.Context, h *harness, a onejob.Attempt) (onejob.Job, error) {
		return h.jobs.Fail(ctx, a, onejob.NoEffect(errors.New("refused")))
	}},
	{"Fail", onejob.StateUnknown, func(ctx context.Context, h *harness, a onejob.Attempt) (onejob.Job, error) {
		return h.jobs.Fail(ctx, a, context.DeadlineExceeded)
	}},
	{"MarkUnknown", onejob.StateUnknown, func(ctx context.Context, h *harness, a onejob.Attempt) (onejob.Job, error) {
		return h.jobs.MarkUnknown(ctx, a, nil)
	}},
}

var _ = register("settling",
	testCase{
		name: "on a context that has ended",
		why:  "after a timeout the context at hand is the one that has ended: what is known must be stored all the same",
		run: func(h *harness) {
			canceled, cancel := context.WithCancel(h.ctx)
			cancel()
			expired, cancel := context.WithTimeout(h.ctx, 0)
			defer cancel()
			for i, ctx := range []context.Context{canceled, expired} {
				for _, s := range settlings {
					_, a := h.start(s.name + strconv.Itoa(i))
					job, err := s.run(ctx, h, a)
					require.NoError(h, err, s.name)
					h.settled(a, job, s.after)
				}
			}
		},
	},
	testCase{
		name: "refusals on a context that has ended",
		why:  "the read that tells why a step was not applied runs as the step did: the answer is as definite as on a live context",
		run: func(h *harness) {
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			for _, s := range settlings {
				_, a := h.inState(s.name, onejob.StateCanceled)
				_, err := s.run(ctx, h, a)
				want := onejob.ErrAttemptEnded
				if s.after == onejob.StateSucceeded {
					want = onejob.ErrLateResult
				}
				require.Equal(h, a.ID, h.refusal(err, want).Attempt.ID, s.name)
			}
			_, a := h.inState("won", onejob.StateSucceeded)
			job, err := h.jobs.Complete(ctx, a, []byte("result"))
			require.NoError(h, err)
			require.Equal(h, "result", string(job.Result))
		},
	},
	testCase{
		name: "on a context that ends during the call",
		why:  "the answer may be lost, the state is lawful, and the repeat gives a definite answer",
		run: func(h *harness) {
			const rounds = 200
			for i := range rounds {
				s := settlings[i%len(settlings)]
				_, a := h.start("k" + strconv.Itoa(i))
				ctx, cancel := context.WithTimeout(h.ctx, time.Duration(rand.IntN(3000))*time.Microsecond)
				_, err := s.run(ctx, h, a)
				cancel()
				if err != nil {
					require.ErrorIs(h, err, onejob.ErrUnavailable, s.name)
				}
				_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Contains(h, []onejob.State{onejob.StateStarted, s.after}, now.State, s.name)
				job, err := s.run(h.ctx, h, a)
				require.NoError(h, err, s.name)
				h.settled(a, job, s.after)
				require.NotContains(h, h.log.String(), "late result")
			}
		},
	},
	testCase{
		name: "deciding on a context that has ended",
		why:  "one who gave up no longer wants the step: it is refused before anything is sent",
		run: func(h *harness) {
			ctx, cancel := context.WithCancel(h.ctx)
			cancel()
			job, a := h.start("k")
			for name, step := range map[string]func() error{
				"Create":         func() error { _, _, err := h.jobs.Create(ctx, intent("other")); return err },
				"Start":          func() error { _, _, err := h.jobs.Start(ctx, intent("other"), try("primary")); return err },
				"BeginAttempt":   func() error { _, err := h.jobs.BeginAttempt(ctx, job, try("fallback")); return err },
				"Extend":         func() error { _, err := h.jobs.Extend(ctx, a, 2*time.Hour); return err },
				"SetExternalRef": func() error { _, err := h.jobs.SetExternalRef(ctx, a, "ref"); return err },
				"Refute":         func() error { _, err := h.op.Refute(ctx, a.ID, someone); return err },
				"CancelAttempt":  func() error { _, err := h.op.CancelAttempt(ctx, a.ID, someone); return err },
				"DetachAttempt":  func() error { _, err := h.op.DetachAttempt(ctx, a.ID, someone); return err },
				"CancelJob":      func() error { _, err := h.op.CancelJob(ctx, job.ID, someone); return err },
			} {
				err := step()
				require.ErrorIs(h, err, onejob.ErrUnavailable, name)
				require.ErrorIs(h, err, context.Canceled, name)
			}
			read, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
			require.NoError(h, err)
			require.Equal(h, a, now)
			require.Equal(h, job, read)
			_, err = h.jobs.GetByKey(h.ctx, job.Owner, "other")
			require.ErrorIs(h, err, onejob.ErrNotFound)
		},
	},
	testCase{
		name: "the provider's own handle",
		why:  "an attempt in doubt is looked up by its external reference, so the first one stands and is kept after the end",
		run: func(h *harness) {
			_, a := h.start("k")
			for range 2 {
				now, err := h.jobs.SetExternalRef(h.ctx, a, "ch_1")
				require.NoError(h, err)
				want := a
				want.ExternalRef = "ch_1"
				require.Equal(h, want, now)
			}
			for _, other := range []string{"ch_2", ""} {
				_, err := h.jobs.SetExternalRef(h.ctx, a, other)
				e := h.refusal(err, onejob.ErrInvalid)
				require.Equal(h, "ref", e.Field)
				require.Equal(h, "ch_1", e.Attempt.ExternalRef)
			}
			require.Equal(h, "ch_1", h.complete(a, "result").Attempt.ExternalRef)
			_, err := h.jobs.SetExternalRef(h.ctx, a, "ch_1")
			require.NoError(h, err)
			_, err = h.jobs.SetExternalRef(h.ctx, a, "ch_2")
			require.ErrorIs(h, err, onejob.ErrInvalid)
		},
	},
	testCase{
		name: "the provider's own handle, by state",
		why:  "it is stored while the attempt is open or detached; one that has ended is not looked up any more",
		run: func(h *harness) {
			for _, state := range allStates {
				_, a := h.inState(string(state), state)
				now, err := h.jobs.SetExternalRef(h.ctx, a, "")
				require.NoError(h, err)
				require.Equal(h, a, now)
				now, err = h.jobs.SetExternalRef(h.ctx, a, strings.Repeat("é", 127))
				if state.Open() || state == onejob.StateDetached {
					require.NoError(h, err)
					require.Equal(h, strings.Repeat("é", 127), now.ExternalRef)
				} else {
					require.Equal(h, state, h.refusal(err, onejob.ErrAttemptEnded).Attempt.State)
				}
			}
			_, a := h.start("k")
			for _, bad := range []string{strings.Repeat("x", 256), "a\x00b", "a\nb", "\xff"} {
				_, err := h.jobs.SetExternalRef(h.ctx, a, bad)
				require.Equal(h, "ref", h.refusal(err, onejob.ErrInvalid).Field)
			}
		},
	},
)

// settled requires that the attempt is in the state, and that the job is what
// is read.
func (h *harness) settled(a onejob.Attempt, job onejob.Job, state onejob.State) {
	h.Helper()
	read, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
	require.NoError(h, err)
	require.Equal(h, state, now.State)
	require.Equal(h, read, job)
}
