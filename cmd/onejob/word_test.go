package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// beside is a job that bob let go on beside an attempt of acme-pay, which another
// of that provider has then begun, with the same provider key.
func (w *world) beside(key string) (a, b onejob.Attempt) {
	w.Helper()
	job, a := w.unknown(intent(key), "acme-pay")
	_, err := w.op.DetachAttempt(w.Context(), a.ID, onejob.Decision{By: "bob", Reason: "user cannot wait"})
	require.NoError(w, err)
	b, err = w.jobs.BeginAttempt(w.Context(), job, onejob.Try{Provider: "acme-pay", Timeout: time.Hour})
	require.NoError(w, err)
	require.Equal(w, a.ProviderKey, b.ProviderKey)
	return w.now(a.ID), b
}

// besideDone is one whose job the other has completed.
func (w *world) besideDone(key string) (a, b onejob.Attempt) {
	w.Helper()
	a, b = w.beside(key)
	_, err := w.jobs.Complete(w.Context(), b, []byte("won"))
	require.NoError(w, err)
	return w.now(a.ID), w.now(b.ID)
}

// The row keeps one name, that of whoever decided last: nobody is said to have
// done what another did.
func TestNobodyIsNamedForWhatAnotherDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		a, _ := w.besideDone("k")
		out := w.does("show", string(a.ID))
		require.Contains(w, out, "detached by   bob: user cannot wait")
		require.Contains(w, out, "attempt 1 was detached, at a time that is not stored, by bob: user cannot wait")

		_, err := w.op.Confirm(w.Context(), a.ID, []byte("{}"), ada)
		require.ErrorIs(w, err, onejob.ErrCompleted)
		out = w.does("show", string(a.ID))
		require.NotContains(w, out, "detached by")
		require.Contains(w, out, "last decision  ada: acme is down")
		require.Contains(w, out, "attempt 1 was detached, at a time that is not stored: another began beside it")

		c, _ := w.besideDone("canceled")
		w.does("cancel", string(c.ID), "--by", "ada", "--reason", "one charge", "--yes")
		out = w.does("show", string(c.ID))
		require.Contains(w, out, "canceled by   ada: one charge")
		require.Contains(w, out, "attempt 1 canceled: it cannot win, by ada: one charge")
		require.NotContains(w, out, "detached by")

		// It failed by itself: bob has not said that it had no effect.
		d, _ := w.beside("failed")
		_, err = w.jobs.Fail(w.Context(), d, onejob.NoEffect(errors.New("declined")))
		require.NoError(w, err)
		out = w.does("show", string(d.ID))
		require.Contains(w, out, "attempt 1 failed: it had no effect; the last decision was by bob: user cannot wait")
	})
}

func TestWhatIsSaidOfADecisionFitsTheJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		about := func(id onejob.AttemptID, verb string) string {
			return w.exits(exitNotConfirmed, with(byBob, verb, string(id))...).err
		}
		_, blocks := w.unknown(intent("blocks"), "acme-pay")
		for _, verb := range []string{"refute", "cancel", "detach"} {
			require.Contains(w, about(blocks.ID, verb), "the next attempt may begin at once")
		}
		beside, _ := w.beside("beside")
		done, _ := w.besideDone("done")
		job, withdrawn := w.unknown(intent("withdrawn"), "acme-pay")
		_, err := w.op.CancelJob(w.Context(), job.ID, ada)
		require.NoError(w, err)
		for _, c := range []struct {
			a    onejob.Attempt
			want string
		}{
			{beside, "It blocked nothing, so the job goes on as before."},
			{done, "The job is completed and stays so: no attempt can begin."},
			{withdrawn, "The job is canceled and stays so: no attempt can begin."},
		} {
			for _, verb := range []string{"refute", "cancel"} {
				said := about(c.a.ID, verb)
				require.Contains(w, said, c.want, verb)
				require.NotContains(w, said, "begin at once", verb)
			}
		}
		all := w.exits(exitNotConfirmed, with(byBob, "refute", "--all", "--provider", "acme-pay", "--state", "unknown", "--state", "detached")...).err
		for _, want := range []string{"Of each of the 1 that block their job:", "Of each of the 1 that are detached:",
			"Of each of the 1 whose job is completed:", "Of each of the 1 whose job is canceled:"} {
			require.Contains(w, all, want)
		}
		require.Contains(w, w.exits(exitNotConfirmed, with(byBob, "refute", "--all", "--owner", "user-7")...).err, "Of each of the 1 whose job is canceled:")
	})
}

// To a provider that deduplicates, two attempts with one key are one order: a
// refund for the second would take back the only one.
func TestTheSameProviderKeyTwiceIsPointedOut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		a, _ := w.besideDone("k")
		const once = "Attempt 2 had the same provider key at acme-pay: if that deduplicates by it, it acted once. Look before you undo anything."
		require.Contains(w, w.does("show", string(a.ID)), once)
		_, err := w.jobs.Complete(w.Context(), a, []byte("second"))
		require.ErrorIs(w, err, onejob.ErrLateResult)
		require.Contains(w, w.does("show", string(a.ID)), once)
		require.Contains(w, w.does("late"), "both had the same provider key")

		_, other := w.late(intent("other"))
		require.NotContains(w, w.does("show", string(other.ID)), "same provider key")
	})
}

func TestADoubtIsToldAsWhatItWas(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("call"), "acme-pay")
		for range 2 { // before the deadline, and after it
			out := w.does("show", string(a.ID))
			require.Contains(w, out, "UNKNOWN, its call ended in doubt; it may have acted")
			require.Regexp(w, "\n  - +- +attempt 1's call ended in doubt, at a time that is not stored: EOF\n", out)
			require.NotContains(w, out, "by its deadline")
			w.earlier(job.ID, 3*time.Hour)
		}
		require.Contains(w, w.does("show", string(a.ID)), "unknown from here on at the latest, for ")

		silent, b := w.started(intent("silent"), "acme-pay")
		w.earlier(silent.ID, 3*time.Hour)
		out := w.does("show", string(b.ID))
		require.Contains(w, out, "UNKNOWN, nobody came back by its deadline, 2h")
		require.Contains(w, out, "passed its deadline: unknown from here on, for 2h")
		require.NotContains(w, out, "in doubt,")

		// It may have been detached in between: the row does not tell.
		w.does(with(byBob, "detach", string(b.ID), "--yes")...)
		require.NotContains(w, w.does("show", string(b.ID)), "unknown from here on")
		w.does(with(byBob, "cancel", string(b.ID), "--yes")...)
		require.Contains(w, w.does("show", string(b.ID)), "passed its deadline: unknown from here on, until a decision")
	})
}

func TestADetachedAttemptIsNotForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("pending"), "acme-pay")
		w.does(with(byBob, "detach", string(a.ID), "--yes")...)
		out := w.does("open")
		require.Contains(w, out, "nothing is open; 1 detached: add --detached\n")
		out = w.does("show", string(a.ID))
		require.Contains(w, out, "Attempt 1 is detached: it blocks nothing and may still win. Ask acme-pay")
		require.Contains(w, out, "onejob refute "+string(a.ID)+" --by YOU --reason WHY\n")
		require.Contains(w, out, "Nothing blocks the job.")

		done, _ := w.besideDone("done")
		out = w.does("show", string(done.ID))
		require.Contains(w, out, "onejob cancel "+string(done.ID)+" --by YOU --reason WHY\n")
		require.Contains(w, out, "its effect is one too many, the job is completed")
		require.NotContains(w, out, "onejob detach")
	})
}

// The commands are there to be pasted, and YOU is nobody.
func TestThePlaceholdersOfACommandAreNotStored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		for line := range strings.Lines(w.does("show", string(a.ID))) {
			if _, command, found := strings.Cut(line, "  onejob "); found {
				s := w.exits(exitUsage, append(strings.Fields(command), "--yes")...)
				require.Contains(w, s.err, "in the place of YOU")
			}
		}
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

func TestWhatIsOverIsToldOnceAndWithoutACountdown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, _ := w.completed(intent("k"), "acme-pay")
		out := w.does("show", string(job.ID))
		require.Regexp(w, `deadline +20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ, timeout 1h0m0s`, out)
		require.NotContains(w, out, "job is completed")
		require.NotContains(w, out, "What now")
	})
}
