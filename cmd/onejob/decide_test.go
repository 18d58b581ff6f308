package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

type verdict struct {
	Outcome string
	Attempt struct {
		State      onejob.State
		By, Reason string
	}
	Job struct{ Status string }
}

func TestADecisionIsMadeWithNameAndReason(t *testing.T) {
	t.Parallel()
	for verb, state := range map[string]onejob.State{
		"refute": onejob.StateFailed, "cancel": onejob.StateCanceled, "detach": onejob.StateDetached,
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				_, a := w.unknown(intent("k"), "acme-pay")
				v := document[verdict](w, exitDone, with(byBob, verb, string(a.ID), "--yes")...)
				require.Equal(w, "decided", v.Outcome)
				require.Equal(w, state, v.Attempt.State)
				require.Equal(w, "pending", v.Job.Status)
				after := w.now(a.ID)
				require.Equal(w, state, after.State)
				require.Equal(w, onejob.Decision{By: "bob", Reason: "acme says no"}, after.Decision)

				// Repeated by another, the first word stands.
				v = document[verdict](w, exitDone, verb, string(a.ID), "--by", "eve", "--reason", "me too", "--yes")
				require.Equal(w, "already", v.Outcome)
				require.Equal(w, "bob", v.Attempt.By)
				require.Contains(w, w.does(verb, string(a.ID), "--by", "eve", "--reason", "me too", "--yes"), "by bob: acme says no")
			})
		})
	}
}

func TestADecisionAboutWhatHasEndedIsRefusedAndSaysByWhom(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		_, err := w.op.CancelAttempt(w.Context(), a.ID, ada)
		require.NoError(w, err)
		s := w.exits(exitRefused, with(byBob, "refute", string(a.ID), "--yes")...)
		require.Contains(w, s.err, "canceled at ")
		require.Contains(w, s.err, "by ada: acme is down")
		_, won := w.completed(intent("done"), "acme-pay")
		s = w.exits(exitRefused, with(byBob, "detach", string(won.ID), "--yes")...)
		require.Contains(w, s.err, "has ended otherwise: succeeded at ")
	})
}

func TestWhoeverDoesNotConfirmDecidesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		s := w.exits(exitNotConfirmed, with(byBob, "refute", string(a.ID))...)
		require.Contains(w, s.err, "--yes")
		for _, answer := range []string{"no\n", "\n", "y\n", "\x04"} {
			term := w.sit(with(byBob, "refute", string(a.ID))...)
			term.waits("Type yes:")
			term.types(answer)
			require.Contains(w, term.exits(exitNotConfirmed), "nothing was done")
		}
		term := w.sit(with(byBob, "refute", string(a.ID))...)
		term.waits("Type yes:")
		term.types("\x03") // Ctrl-C
		term.exits(exitInterrupted)
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

func TestThePromptShowsWhatIsAboutToBeDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("order-1042"), "acme-pay")
		term := w.sit(with(byBob, "cancel", string(a.ID))...)
		term.waits("Type yes:")
		for _, want := range []string{"CANCEL attempt 1 by acme-pay", string(a.ID), "owner user-7, key order-1042", "EOF",
			w.tables[:6], "by bob: acme says no", "whatever it did", "effect will be there twice"} {
			require.Contains(w, term.screen(), want)
		}
		require.NotContains(w, term.screen(), "MIND")
		term.types("yes\n")
		require.Contains(w, term.exits(exitDone), "is canceled.")
		require.Equal(w, onejob.StateCanceled, w.now(a.ID).State)

		job2, b := w.started(intent("running"), "acme-pay")
		term = w.sit(with(byBob, "refute", string(b.ID))...)
		term.waits("Type yes:")
		require.Contains(w, term.screen(), "MIND: it is not overdue")
		term.types("no\n")
		term.exits(exitNotConfirmed)

		term = w.sit(with(byBob, "cancel-job", string(job2.ID))...)
		term.waits("Type yes:")
		require.Contains(w, term.screen(), "It does not end attempt 1 by acme-pay, which is started")
		term.types("yes\n")
		require.Contains(w, term.exits(exitDone), "still: find out what it did")
		require.NotEqual(w, job.ID, job2.ID)
	})
}

// While one reads the prompt, another may decide otherwise: what was shown is
// decided, or nothing.
func TestADecisionIsAboutTheAttemptAsItWasShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		term := w.sit(with(byBob, "refute", string(a.ID))...)
		term.waits("Type yes:")
		_, err := w.op.DetachAttempt(w.Context(), a.ID, ada)
		require.NoError(w, err)
		term.types("yes\n")
		require.Contains(w, term.exits(exitRefused), "has become detached meanwhile, by ada: acme is down")
		require.Equal(w, onejob.StateDetached, w.now(a.ID).State)
	})
}

func TestOfTwoOperatorsAtOnceOneDecidesAndTheOtherLearnsOfIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		for round := range 5 {
			_, a := w.unknown(intent(fmt.Sprint("k", round)), "acme-pay")
			codes := make([]said, 6)
			var wg sync.WaitGroup
			for i := range codes {
				verb := []string{"refute", "cancel"}[i%2]
				wg.Go(func() {
					codes[i] = w.run(verb, string(a.ID), "--by", fmt.Sprint("op", i), "--reason", "r", "--yes")
				})
			}
			wg.Wait()
			after := w.now(a.ID)
			decidedBy := ""
			for i, s := range codes {
				same := after.State == map[int]onejob.State{0: onejob.StateFailed, 1: onejob.StateCanceled}[i%2]
				switch {
				case strings.HasSuffix(s.out, "pending: nothing blocks it, an attempt may begin.\n") && !strings.Contains(s.out, "already"):
					require.Empty(w, decidedBy, "two have decided")
					decidedBy = fmt.Sprint("op", i)
				case same:
					require.Equal(w, exitDone, s.code, s.err)
					require.Contains(w, s.out, "by "+after.By)
				default:
					require.Equal(w, exitRefused, s.code, s.out+s.err)
					require.Contains(w, s.err, "by "+after.By)
				}
			}
			require.Equal(w, after.By, decidedBy)
		}
	})
}

func TestAJobIsCanceledForGood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("k"), "acme-pay")
		out := w.does(with(byBob, "cancel-job", string(job.ID), "--yes")...)
		require.Contains(w, out, "is canceled: nothing can win any more")
		require.Contains(w, out, "Attempt "+string(a.ID)+" is unknown still")
		require.Contains(w, w.does("cancel-job", string(job.ID), "--by", "eve", "--reason", "x", "--yes"), "already, by bob")
		done, won := w.completed(intent("done"), "acme-pay")
		s := w.exits(exitRefused, with(byBob, "cancel-job", string(done.ID), "--yes")...)
		require.Contains(w, s.err, "is completed and stays so")
		require.Contains(w, s.err, string(won.ID))
	})
}

func TestAmbiguousInputIsRefusedWithTheWayToGo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("k"), "acme-pay")
		done, _ := w.completed(intent("done"), "acme-pay")
		for _, c := range []struct {
			args []string
			want string
		}{
			{with(byBob, "cancel", string(job.ID), "--yes"), "onejob cancel " + string(a.ID)},
			{with(byBob, "cancel", string(done.ID), "--yes"), "onejob show " + string(done.ID)},
			{with(byBob, "cancel-job", string(a.ID), "--yes"), "onejob cancel-job " + string(job.ID)},
			{[]string{"cancel", string(a.ID), "--yes"}, "--by and --reason are required"},
			{[]string{"cancel", string(a.ID), "--by", "bob", "--reason", "  ", "--yes"}, "--by and --reason are required"},
			{[]string{"cancel", string(a.ID), "--by", "b\x1bob", "--reason", "r", "--yes"}, "--by must be"},
			{[]string{"cancel", string(a.ID), "--by", "bob", "--reason", strings.Repeat("r", 4097), "--yes"}, "--reason must be"},
			{[]string{"cancel-job", string(job.ID), "--yes"}, "--by and --reason are required"},
			{with(byBob, "cancel"), "which attempt?"},
			{with(byBob, "cancel", "1234"), "neither a job's ID"},
			{with(byBob, "cancel", string(a.ID), "--all", "--kind", "charge"), "an ID or --all"},
			{with(byBob, "cancel", string(a.ID), "--kind", "charge"), "go with --all"},
			{with(byBob, "cancel", "--all", "--yes"), "without a filter"},
			{with(byBob, "cancel", "--all", "--yes", "--state", "unknown", "--limit", "5"), "without a filter"},
			{with(byBob, "cancel", "--all", "--kind", "charge", "--state", "failed"), "must be started, unknown or detached"},
			{with(byBob, "detach", "--all", "--kind", "charge", "--state", "detached"), "detached already"},
			{with(byBob, "cancel", "--all", "--kind", "charge", "--before", "yesterday"), "is no time"},
			{[]string{"cancel", "--all", "--kind", "charge"}, "--by and --reason are required"},
			{[]string{"show"}, "which job?"},
			{[]string{"show", "--owner", "user-7"}, "which job?"},
			{[]string{"show", string(job.ID), "--owner", "user-7", "--key", "k"}, "not both"},
			{[]string{"open", "--state", "late"}, "must be started"},
			{[]string{"open", "--owner", strings.Repeat("o", 200)}, "--owner has 200 bytes"},
			{[]string{"purge"}, "purge what?"},
			{[]string{"purge", "--older-than", "0d"}, "must be positive"},
			{[]string{"purge", "--older-than", "soon"}, "is no length of time"},
			{[]string{"purge", "--older-than", "9d", "--tombstones-older-than", "8d"}, "must not be less"},
			{[]string{"nonsense"}, "unexpected argument nonsense"},
			{[]string{"migrate", "down"}, "--to VERSION is required"},
			{[]string{"migrate", "down", "--to", "99", "--yes"}, "already"},
		} {
			s := w.exits(exitUsage, c.args...)
			require.Contains(w, s.err, c.want, "%v", c.args)
		}
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, _ := w.unknown(intent("k"), "acme-pay")
		const none = "01a22ce0-3dcb-7bea-84ac-c939d539d608"
		for _, args := range [][]string{
			{"show", none}, {"show", none + "-0123456789abcdef"}, {"show", string(job.ID) + "-0123456789abcdef"},
			{"show", "--owner", "user-8", "--key", "k"}, {"show", "--owner", "user-7", "--key", "K"},
			with(byBob, "refute", none, "--yes"), with(byBob, "refute", none+"-0123456789abcdef", "--yes"),
			with(byBob, "cancel-job", none, "--yes"),
		} {
			w.exits(exitNotFound, args...)
		}
	})
}

// An ID is found in a chat or a ticket, and not always copied cleanly.
func TestAnIDIsReadAsItWasCopied(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("k"), "acme-pay")
		for _, id := range []string{string(job.ID), " " + strings.ToUpper(string(job.ID)) + "\n", string(a.ID)} {
			require.Contains(w, w.does("show", id), "Job "+string(job.ID)+": UNKNOWN")
		}
		require.Contains(w, w.does("show", "--owner", "user-7", "--key", "k"), string(job.ID))
	})
}

func TestNothingHereCompletesAJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		for _, args := range [][]string{{"confirm"}, {"confirm", string(a.ID)}, with(byBob, "confirm", string(a.ID), "--result", "{}", "--yes")} {
			s := w.exits(exitUsage, args...)
			require.Contains(w, s.err, "OnComplete")
			require.Contains(w, s.err, "Confirm(ctx, attempt, result, decision)")
			require.Contains(w, s.err, "console")
		}
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
		require.Contains(w, w.does("show", string(a.ID)), "not from here: see onejob confirm")
		require.Contains(w, w.does("--help"), "confirm")
	})
}

// Another process holds the file's one write lock: the decision waits for some
// seconds, and then it is said that it was not heard.
func TestADatabaseThatIsLockedGivesNoAnswer(t *testing.T) {
	t.Parallel()
	w := onSQLite(t, dbtest.SQLitePath(t))
	_, a := w.unknown(intent("k"), "acme-pay")
	conn, err := w.db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	s := w.exits(exitNoAnswer, with(byBob, "refute", string(a.ID), "--yes")...)
	require.Contains(t, s.err, "another connection holds the lock")
	require.Contains(t, w.does("open"), "1 attempt: 1 unknown", "who reads does not wait")
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	w.does(with(byBob, "refute", string(a.ID), "--yes")...)
}
