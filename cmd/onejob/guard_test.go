package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// A variable that is not set makes --owner "", which must not mean everybody.
func TestAnEmptyFilterIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		for _, more := range [][]string{{"--owner", ""}, {"--owner="}, {"--kind", ""}, {"--before", ""}, {"--after", ""}, {"--limit", "0"}, {"--state", ""}} {
			w.exits(exitUsage, with(byBob, append([]string{"cancel", "--all", "--provider", "acme-pay", "--yes"}, more...)...)...)
		}
		w.exits(exitUsage, with(byBob, "cancel", "--all", "--provider", "", "--yes")...)
		w.exits(exitUsage, "open", "--owner", "")
		require.Contains(w, w.exits(exitUsage, "open", "--schema", "").err, "is empty")
		later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		require.Contains(w, w.exits(exitUsage, with(byBob, "cancel", "--all", "--before", later, "--yes")...).err, "in the future")
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

func TestAStartedAttemptIsDecidedUnseenOnlyWhereThatIsSaid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.started(intent("k"), "acme-pay")
		s := w.exits(exitNotConfirmed, with(byBob, "refute", string(a.ID), "--yes")...)
		require.Contains(w, s.err, "add --started")
		require.Equal(w, onejob.StateStarted, w.now(a.ID).State)
		w.does(with(byBob, "refute", string(a.ID), "--yes", "--started")...)
		require.Equal(w, onejob.StateFailed, w.now(a.ID).State)
	})
}

func TestTheStatesOfABulkDecisionReplaceTheStandard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, doubt := w.unknown(intent("doubt"), "acme-pay")
		_, running := w.started(intent("running"), "acme-pay")
		ids := func(states string) (list []onejob.AttemptID) {
			for _, a := range document[attempts](w, exitDone, "cancel", "--all", "--kind", "charge", "--dry-run", "--state", states).Attempts {
				list = append(list, a.ID)
			}
			return list
		}
		require.Equal(w, []onejob.AttemptID{running.ID}, ids("started"))
		require.Equal(w, []onejob.AttemptID{doubt.ID, running.ID}, ids("unknown,started"))
	})
}

// By the library's own word the provider has acted: refuted, it acts again.
func TestWhatHasActedIsNotRefutedInBulk(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, doubt := w.unknown(intent("doubt"), "acme-pay")
		_, acted := w.started(intent("acted"), "acme-pay")
		const cause = "the call returned a result that could not be stored: OnComplete refused it"
		_, err := w.jobs.MarkUnknown(w.Context(), acted, errors.New(cause))
		require.NoError(w, err)
		const mind = "the provider HAS ACTED"
		require.Contains(w, w.does("show", string(acted.ID)), mind)
		require.Contains(w, w.exits(exitNotConfirmed, with(byBob, "refute", string(acted.ID))...).err, mind)
		all := with(byBob, "refute", "--all", "--provider", "acme-pay")
		s := w.exits(exitNotConfirmed, all...)
		require.Contains(w, s.err, "Left out: 1 attempt whose provider HAS ACTED")
		require.Contains(w, s.err, "causes     EOF 1")
		done := document[outcomes](w, exitDone, append(all, "--yes")...)
		require.Equal(w, map[string]int{"decided": 1, "left_out": 1}, done.Summary)
		require.Equal(w, onejob.StateFailed, w.now(doubt.ID).State)
		require.Equal(w, onejob.StateUnknown, w.now(acted.ID).State)
	})
}

// Detached, the doubt of a job that is over would be closed by the next purge.
func TestADoubtOfAJobThatIsOverIsNotDetached(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.unknown(intent("k"), "acme-pay")
		_, err := w.op.CancelJob(w.Context(), job.ID, ada)
		require.NoError(w, err)
		require.Contains(w, w.exits(exitRefused, with(byBob, "detach", string(a.ID), "--yes")...).err, "refute or cancel it once you know")
		require.Contains(w, w.exits(exitDone, with(byBob, "detach", "--all", "--kind", "charge", "--yes")...).err, "Left out: 1 attempt whose job is over")
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

func TestAJobIsCanceledAsItWasShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, _, err := w.jobs.Create(w.Context(), intent("k"))
		require.NoError(w, err)
		term := w.sit(with(byBob, "cancel-job", string(job.ID))...)
		term.waits("Type yes:")
		_, err = w.jobs.BeginAttempt(w.Context(), job, onejob.Try{Provider: "acme-pay", Timeout: time.Hour})
		require.NoError(w, err)
		term.types("yes\n")
		require.Contains(w, term.exits(exitRefused), "attempts have changed meanwhile, it is running")
		after, _, err := w.op.Get(w.Context(), job.ID)
		require.NoError(w, err)
		require.Equal(w, onejob.JobOpen, after.State)
	})
}

// What somebody has read was without the provider's reference: it may say more.
func TestADecisionIsAboutWhatWasKnownToo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		_, a := w.unknown(intent("k"), "acme-pay")
		term := w.sit(with(byBob, "refute", string(a.ID))...)
		term.waits("Type yes:")
		_, err := w.jobs.SetExternalRef(w.Context(), a, "ch_1")
		require.NoError(w, err)
		term.types("yes\n")
		require.Contains(w, term.exits(exitRefused), "what is known of the attempt, or its job, has changed meanwhile")
		require.Equal(w, onejob.StateUnknown, w.now(a.ID).State)
	})
}

// One row that another holds is the fate of that attempt, not of the rest.
func TestABulkDecisionGoesOnPastALockedRow(t *testing.T) {
	t.Parallel()
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		w := onPostgres(t, dbtest.PostgresDSN(t))
		w.outage(3, "acme-pay")
		all := document[attempts](w, exitDone, "open").Attempts
		tx, err := w.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Exec("SELECT 1 FROM onejob.jobs WHERE id = $1 FOR UPDATE", all[0].Job.ID)
		require.NoError(t, err)
		hasty := &world{T: t, dsn: w.dsn + "&options=-clock_timeout%3D200ms"}
		done := document[outcomes](hasty, exitFailed, with(byBob, "refute", "--all", "--provider", "acme-pay", "--yes")...)
		require.Equal(t, map[string]int{"decided": 2, "failed": 1}, done.Summary)
		require.Equal(t, all[0].ID, done.Outcomes[0].Attempt)
		require.Contains(t, done.Outcomes[0].Detail, "another holds its row")
	})
}

// A list that was cut off must not look whole to a script.
func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	for _, more := range [][]string{nil, {"--json"}} {
		cmd := exec.Command(binary, append([]string{"migrate", "print", "--database", "sqlite"}, more...)...)
		cmd.Env, cmd.Stdout = environ(nil), full
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		require.Equal(t, exitFailed, exit.ExitCode())
	}
}

func TestABareWordIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(binary, "migrate", "up", "--dsn", "shopdb")
	cmd.Dir, cmd.Env = dir, environ(nil)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "one word may be a database")
	_, err = os.Stat(filepath.Join(dir, "shopdb"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// m is minutes, to whoever wrote it; some mean months.
func TestAYoungAgeIsNotPurgedByMistake(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, _ := w.completed(intent("k"), "acme-pay")
		w.earlier(job.ID, time.Hour)
		require.Contains(w, w.exits(exitUsage, "purge", "--older-than", "6m", "--yes").err, "six of them")
		require.Contains(w, w.exits(exitNotConfirmed, "purge", "--older-than", "6m", "--young").err, "more than 6 minutes ago")
	})
}
