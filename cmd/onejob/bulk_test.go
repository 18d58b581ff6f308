package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// outage leaves n attempts in doubt. They are stored as an outage leaves them:
// through the library, many at once.
func (w *world) outage(n int, provider string) {
	w.Helper()
	ids := make(chan int)
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			var first error
			for i := range ids {
				_, a, err := w.jobs.Start(w.Context(), intent(fmt.Sprintf("%s-%d", provider, i)),
					onejob.Try{Provider: provider, Timeout: time.Hour})
				if err == nil {
					_, err = w.jobs.MarkUnknown(w.Context(), a, context.DeadlineExceeded)
				}
				if first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for i := range n {
		ids <- i
	}
	close(ids)
	for range cap(errs) {
		require.NoError(w, <-errs)
	}
}

// count counts attempts in a state, as they are stored.
func (w *world) count(state onejob.State) (n int) {
	w.Helper()
	query := fmt.Sprintf("SELECT count(*) FROM %sattempts WHERE state = '%s'", w.tables, state)
	require.NoError(w, w.db.QueryRowContext(context.Background(), query).Scan(&n))
	return n
}

func TestAnOutageIsDecidedAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.outage(500, "acme-pay")
		w.unknown(intent("mine"), "other-pay")
		_, running := w.started(intent("running"), "acme-pay")

		dry := document[attempts](w, exitDone, "refute", "--all", "--provider", "acme-pay", "--dry-run")
		require.Len(w, dry.Attempts, 500)
		out := w.does("refute", "--all", "--provider", "acme-pay", "--dry-run")
		require.Contains(w, out, "500 attempts: 500 unknown would be refuted. Nothing was done.")
		require.Contains(w, out, string(dry.Attempts[499].ID))
		require.Equal(w, 501, w.count(onejob.StateUnknown))

		s := w.exits(exitNotConfirmed, with(byBob, "refute", "--all", "--provider", "acme-pay")...)
		require.Contains(w, s.err, "REFUTE 500 attempts: 500 unknown")
		require.Equal(w, 501, w.count(onejob.StateUnknown))

		// 20 of them, then the rest, with a person at the terminal.
		part := document[outcomes](w, exitDone, with(byBob, "refute", "--all", "--provider", "acme-pay", "--limit", "20", "--yes")...)
		require.Equal(w, map[string]int{"decided": 20}, part.Summary)
		for i, o := range part.Outcomes {
			require.Equal(w, dry.Attempts[i].ID, o.Attempt, "the oldest first")
		}
		term := w.sit(with(byBob, "refute", "--all", "--provider", "acme-pay")...)
		term.waits("Refute all 480? Type yes:")
		require.Contains(w, term.screen(), "acme-pay 480")
		term.types("yes\n")
		screen := term.exits(exitDone)
		require.Contains(w, screen, "100 of 480 done")
		require.Contains(w, screen, "Refuted 480 of 480.")
		require.Equal(w, 500, w.count(onejob.StateFailed))
		require.Equal(w, 1, w.count(onejob.StateUnknown), "another provider's")
		require.Equal(w, onejob.StateStarted, w.now(running.ID).State)
		require.Equal(w, onejob.Decision{By: "bob", Reason: "acme says no"}, w.now(dry.Attempts[250].ID).Decision)

		require.Contains(w, w.does(with(byBob, "refute", "--all", "--provider", "acme-pay", "--yes")...), "nothing matches")
	})
}

// The process of a started attempt may be calling its provider: it is decided
// about only where somebody says so, and sees a warning.
func TestABulkDecisionLeavesStartedAttemptsAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, doubt := w.unknown(intent("doubt"), "acme-pay")
		_, running := w.started(intent("running"), "acme-pay")
		job, overdue := w.started(intent("overdue"), "acme-pay")
		w.earlier(job.ID, 2*time.Hour) // nobody has swept it
		done := document[outcomes](w, exitDone, with(byBob, "cancel", "--all", "--kind", "charge", "--yes")...)
		require.Equal(w, map[string]int{"decided": 2}, done.Summary)
		require.Equal(w, onejob.StateCanceled, w.now(doubt.ID).State)
		require.Equal(w, onejob.StateCanceled, w.now(overdue.ID).State)
		require.Equal(w, onejob.StateStarted, w.now(running.ID).State)

		s := w.exits(exitDone, with(byBob, "cancel", "--all", "--kind", "charge", "--state", "started", "--yes")...)
		require.Contains(w, s.err, "MIND: some are not overdue")
		require.Equal(w, onejob.StateCanceled, w.now(running.ID).State)
	})
}

func TestABulkDecisionTakesWhatTheFilterSays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		old, _ := w.unknown(intent("old"), "acme-pay")
		w.earlier(old.ID, 3*time.Hour)
		w.unknown(intent("new"), "acme-pay")
		w.unknown(onejob.Intent{Owner: "user-8", Key: "k", Kind: "mail"}, "other-pay")
		_, gone := w.unknown(intent("gone"), "acme-pay")
		_, err := w.op.DetachAttempt(w.Context(), gone.ID, ada)
		require.NoError(w, err)
		at := time.Now().Add(-time.Hour).UTC()
		for _, c := range []struct {
			want []string
			args []string
		}{
			{[]string{"old"}, []string{"--before", "1h"}},
			{[]string{"old"}, []string{"--before", at.Format(time.RFC3339)}},
			{[]string{"old"}, []string{"--before", at.Format("2006-01-02 15:04")}},
			{nil, []string{"--before", "1d"}},
			{[]string{"new"}, []string{"--provider", "acme-pay", "--after", "1h"}},
			{[]string{"old", "new"}, []string{"--provider", "acme-pay"}},
			{[]string{"k"}, []string{"--kind", "mail"}},
			{[]string{"k"}, []string{"--owner", "user-8"}},
			{nil, []string{"--owner", "user-8", "--kind", "charge"}},
			{[]string{"gone"}, []string{"--provider", "acme-pay", "--state", "detached"}},
			{[]string{"old", "new", "gone"}, []string{"--provider", "acme-pay", "--state", "detached", "--state", "unknown"}},
			{[]string{"old"}, []string{"--provider", "acme-pay", "--limit", "1"}},
		} {
			var keys []string
			for _, a := range document[attempts](w, exitDone, append([]string{"cancel", "--all", "--dry-run"}, c.args...)...).Attempts {
				keys = append(keys, a.Job.Key)
			}
			require.Equal(w, c.want, keys, "%v", c.args)
		}
	})
}

// While somebody reads the prompt, others decide: those are left as they are.
func TestABulkDecisionGoesOnPastWhatOthersDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.outage(6, "acme-pay")
		all := document[attempts](w, exitDone, "open").Attempts
		term := w.sit(with(byBob, "refute", "--all", "--provider", "acme-pay")...)
		term.waits("Type yes:")
		_, err := w.op.CancelAttempt(w.Context(), all[0].ID, ada)
		require.NoError(w, err)
		_, err = w.op.DetachAttempt(w.Context(), all[1].ID, ada)
		require.NoError(w, err)
		_, err = w.op.Refute(w.Context(), all[2].ID, ada)
		require.NoError(w, err)
		_, err = w.jobs.Complete(w.Context(), w.now(all[3].ID), []byte("back"))
		require.NoError(w, err)
		w.outage(7, "acme-pay2")
		_, _ = w.unknown(intent("after"), "acme-pay") // what came later was not shown
		term.types("yes\n")
		screen := term.exits(exitRefused)
		for _, want := range []string{"Refuted 2 of 6.", "1 had become so already", "2 had ended otherwise", "1 had changed meanwhile",
			string(all[0].ID) + ": left as it is: canceled at", "by ada: acme is down"} {
			require.Contains(w, screen, want)
		}
		require.Equal(w, 8, w.count(onejob.StateUnknown))
	})
}

// midway runs a bulk decision, calls at when it tells of its first hundred, and
// returns what became of it.
func (w *world) midway(at func(cmd *exec.Cmd)) said {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, with(byBob, "refute", "--all", "--provider", "acme-pay", "--yes")...)
	cmd.Env = environ([]string{"ONEJOB_DSN=" + w.dsn})
	var out bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	require.NoError(w, err)
	require.NoError(w, cmd.Start())
	var errs strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		errs.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "100 of ") {
			at(cmd)
		}
	}
	_ = cmd.Wait()
	return said{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestASignalEndsABulkDecisionBetweenTwo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		const n = 1500
		w.outage(n, "acme-pay")
		s := w.midway(func(cmd *exec.Cmd) { require.NoError(w, cmd.Process.Signal(os.Interrupt)) })
		require.Equal(w, exitInterrupted, s.code, s.err)
		require.Contains(w, s.err, "run the same command again")
		var did, total, left int
		_, err := fmt.Sscanf(s.out, "Refuted %d of %d.\n%d were not reached\n", &did, &total, &left)
		require.NoError(w, err, s.out)
		require.Equal(w, n, total)
		require.Equal(w, n, did+left)
		require.Positive(w, left)
		require.Equal(w, did, w.count(onejob.StateFailed), "what it said is what was done")

		w.does(with(byBob, "refute", "--all", "--provider", "acme-pay", "--yes")...)
		require.Equal(w, n, w.count(onejob.StateFailed))
	})
}

func TestADatabaseThatDiesInABulkDecisionEndsItAndARepeatGoesOn(t *testing.T) {
	t.Parallel()
	cluster, err := dbtest.Start("fsync=off", "full_page_writes=off")
	require.NoError(t, err)
	t.Cleanup(func() { _ = cluster.Stop() })
	w := onPostgres(t, cluster.DSN("postgres"))
	require.NoError(t, w.store.Migrate(t.Context()))
	const n = 1500
	w.outage(n, "acme-pay")
	s := w.midway(func(*exec.Cmd) { require.NoError(t, cluster.Kill()) })
	require.Equal(t, exitNoAnswer, s.code, s.err)
	require.Contains(t, s.err, "run the same command again to go on")
	var did, total int
	for line := range strings.Lines(s.out) {
		if strings.HasPrefix(line, "Refuted") {
			_, err := fmt.Sscanf(line, "Refuted %d of %d.", &did, &total)
			require.NoError(t, err)
		}
	}
	require.Equal(t, n, total)
	require.GreaterOrEqual(t, did, 100)
	require.Contains(t, s.out, "1 had no answer: decided or not")
	require.Contains(t, s.out, fmt.Sprintf("%d were not reached", n-did-1))
	w.exits(exitNoAnswer, "open")

	require.NoError(t, cluster.Boot())
	failed := w.count(onejob.StateFailed)
	require.GreaterOrEqual(t, failed, did, "what it said was done is done")
	require.LessOrEqual(t, failed, did+1)
	w.does(with(byBob, "refute", "--all", "--provider", "acme-pay", "--yes")...)
	require.Equal(t, n, w.count(onejob.StateFailed))
}
