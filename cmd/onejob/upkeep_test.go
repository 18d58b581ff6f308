package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

func TestSweepMakesOverdueAttemptsUnknown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		for i := range 5 {
			job, _ := w.started(intent(fmt.Sprint("k", i)), "acme-pay")
			w.earlier(job.ID, 2*time.Hour)
		}
		w.started(intent("running"), "acme-pay")
		type swept struct {
			Swept    int
			Attempts []onejob.AttemptID
		}
		require.Equal(w, 6, w.count(onejob.StateStarted))
		doc := document[swept](w, exitDone, "sweep", "--limit", "2")
		require.Equal(w, 2, doc.Swept)
		require.Len(w, doc.Attempts, 2)
		require.Equal(w, 2, w.count(onejob.StateUnknown))
		require.Contains(w, w.does("sweep"), "3 overdue attempts became unknown")
		require.Equal(w, 1, w.count(onejob.StateStarted))
		require.Zero(w, document[swept](w, exitDone, "sweep").Swept)
	})
}

// old is a database of jobs of every kind and age, of which a purge takes some.
func (w *world) old() {
	w.Helper()
	day := 24 * time.Hour
	at := func(job onejob.Job, days int) { w.earlier(job.ID, time.Duration(days)*day) }
	for i := range 7 {
		job, _ := w.completed(intent(fmt.Sprint("done", i)), "acme-pay")
		at(job, 10*i) // 0, 10, 20, …, 60 days
	}
	late, _ := w.late(intent("late"))
	at(late, 50)
	canceled, _, err := w.jobs.Create(w.Context(), intent("canceled"))
	require.NoError(w, err)
	_, err = w.op.CancelJob(w.Context(), canceled.ID, ada)
	require.NoError(w, err)
	at(canceled, 50)
	open, _ := w.unknown(intent("open"), "acme-pay")
	at(open, 50)
	held, _ := w.unknown(intent("held"), "acme-pay") // canceled, but nobody knows what its attempt did
	_, err = w.op.CancelJob(w.Context(), held.ID, ada)
	require.NoError(w, err)
	at(held, 50)
	detached, a := w.unknown(intent("detached"), "acme-pay")
	_, err = w.op.DetachAttempt(w.Context(), a.ID, ada)
	require.NoError(w, err)
	_, err = w.op.CancelJob(w.Context(), detached.ID, ada)
	require.NoError(w, err)
	at(detached, 50)
	young, _ := w.completed(intent("young"), "acme-pay") // begun long ago, done just now
	created := fmt.Sprintf("created_at - %d", (50 * day).Microseconds())
	if w.postgres() {
		created = "created_at - interval '50 days'"
	}
	w.exec(fmt.Sprintf("UPDATE {t}jobs SET created_at = %s WHERE id = '%s'", created, young.ID))
	for i := range 3 {
		tomb, _ := w.completed(intent(fmt.Sprint("tomb", i)), "acme-pay")
		at(tomb, 1000)
	}
	_, err = w.op.Purge(w.Context(), onejob.Retention{Payloads: 900 * day}, 100)
	require.NoError(w, err)
	tomb, _ := w.completed(intent("young tomb"), "acme-pay")
	at(tomb, 200)
	_, err = w.op.Purge(w.Context(), onejob.Retention{Payloads: 190 * day}, 100)
	require.NoError(w, err)
}

func TestADryRunCountsWhatThePurgeThenDoes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.old()
		for _, c := range []struct {
			emptied, removed int64
			args             []string
		}{
			{1, 0, []string{"--older-than", "8w3d"}}, // 59 days
			{6, 0, []string{"--older-than", "25d"}},  // 30, 40, 50, late, canceled, detached
			{0, 3, []string{"--tombstones-older-than", "400d"}},
			{2, 1, []string{"--older-than", "5d", "--tombstones-older-than", "100d"}}, // 10, 20; not what was emptied just now
			{0, 0, []string{"--older-than", "5d"}},
			{0, 7, []string{"--tombstones-older-than", "25d"}},
			{2, 2, []string{"--older-than", "1us", "--tombstones-older-than", "1us"}},
		} {
			dry := document[purged](w, exitDone, append([]string{"purge", "--dry-run"}, c.args...)...)
			require.Equal(w, purged{c.emptied, c.removed, true}, dry, "%v", c.args)
			did := document[purged](w, exitDone, append([]string{"purge", "--yes", "--young"}, c.args...)...)
			require.Equal(w, purged{dry.Emptied, dry.Removed, false}, did, "%v", c.args)
		}
		require.Equal(w, 2, w.count(onejob.StateUnknown), "open and held")
	})
}

func TestAPurgeOfManyBatchesTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		const n = batch + 20
		w.outage(n, "acme-pay")
		w.does(with(byBob, "cancel", "--all", "--provider", "acme-pay", "--yes")...)
		by, second := "0", "1000000"
		if w.postgres() {
			by, second = "now()", "interval '1 second'"
		}
		if !w.postgres() {
			by = fmt.Sprint(time.Now().UnixMicro())
		}
		w.exec(fmt.Sprintf("UPDATE {t}jobs SET state = 'canceled', version = 2, ended_at = %s - 100 * %s, created_at = %s - 100 * %s", by, second, by, second))
		s := w.exits(exitDone, "purge", "--older-than", "30s", "--young", "--yes")
		require.Contains(w, s.err, "500 emptied so far")
		require.Contains(w, s.out, "520 jobs emptied")
		require.Contains(w, w.does("stats"), "purged     520")
	})
}

func TestAPurgeIsAskedAboutLikeADecision(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.old()
		args := []string{"purge", "--older-than", "25d", "--tombstones-older-than", "400d"}
		s := w.exits(exitNotConfirmed, args...)
		require.Contains(w, s.err, "PURGE 7 jobs that ended more than 25 days ago")
		term := w.sit(args...)
		term.waits("Type yes:")
		require.Contains(w, term.screen(), "REMOVE 3 tombstones")
		require.Contains(w, term.screen(), "executes again")
		term.types("no\n")
		term.exits(exitNotConfirmed)
		require.Equal(w, purged{7, 3, true}, document[purged](w, exitDone, append(args, "--dry-run")...))
		term = w.sit(args...)
		term.waits("Type yes:")
		term.types("yes\n")
		require.Contains(w, term.exits(exitDone), "7 jobs emptied, 3 tombstones removed")
	})
}

func TestDoctorEndsWithItsOwnCodeWhereThePromiseIsBroken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		type findings struct {
			Findings []struct {
				Setting, Advice string
				Breaks          bool
			}
		}
		if !w.postgres() {
			require.Empty(w, document[findings](w, exitDone, "doctor").Findings)
			require.Contains(w, w.does("doctor"), "all is well")
			w.exec(fmt.Sprintf("DELETE FROM {t}migrations WHERE version = %d", newest))
			doc := document[findings](w, exitDoctor, "doctor")
			require.Contains(w, doc.Findings[0].Advice, `run "onejob migrate up"`)
			w.exec(fmt.Sprintf("INSERT INTO {t}migrations (version) VALUES (%d)", newest))
			return
		}
		// The tests' server saves the wait for disks.
		dsn := w.dsn + "&options=-csynchronous_commit%3Doff"
		off := &world{T: w.T, dsn: dsn}
		doc := document[findings](off, exitDoctor, "doctor")
		settings := map[string]bool{}
		for i, f := range doc.Findings {
			settings[f.Setting] = f.Breaks
			require.True(w, i == 0 || !f.Breaks || doc.Findings[i-1].Breaks, "what breaks comes first")
		}
		require.True(w, settings["synchronous_commit"])
		require.NotContains(w, settings, "MaxOpenConns", "of this command's own pool")
		require.NotContains(w, settings, "MaxIdleConns")
		require.Contains(w, off.exits(exitDoctor, "doctor").out, "BREAKS  synchronous_commit")
	})
}

func TestHelpTellsTheExitCodes(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}} {
		s := runWith(t, nil, args...)
		require.Equal(t, exitDone, s.code)
		require.Contains(t, s.out, exitHelp)
	}
	for _, code := range []int{exitDone, exitFailed, exitUsage, exitNotFound, exitRefused, exitNotConfirmed, exitNoAnswer, exitDoctor, exitSchema, exitInterrupted} {
		require.Contains(t, exitHelp, fmt.Sprintf("\n%5d  ", code))
	}
	require.True(t, strings.HasPrefix(runWith(t, nil, "--version").out, "onejob "))
}

func TestTheReadmeTellsOfEveryCommandAndExitCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, commands, found := strings.Cut(runWith(t, nil, "--help").out, "Commands for a job that is blocked:\n")
	require.True(t, found)
	commands, codes, found := strings.Cut(commands, "\nRun ")
	require.True(t, found)
	names := regexp.MustCompile(`(?m)^  ([a-z-]+) `).FindAllStringSubmatch(commands, -1)
	require.Greater(t, len(names), 12)
	for _, m := range names {
		require.Contains(t, string(text), "onejob "+m[1])
	}
	numbers := regexp.MustCompile(`(?m)^ +(\d+)  `).FindAllStringSubmatch(codes, -1)
	require.Len(t, numbers, 10)
	for _, m := range numbers {
		require.Contains(t, string(text), "\n| "+m[1]+" | ")
	}
}
