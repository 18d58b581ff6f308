package console_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
	"github.com/onejob-go/onejob/onejobtest"
)

func TestTheOverviewCountsAndShowsTheOldestDoubt(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		w.page(w.get(""), http.StatusOK, "Nothing is in doubt.", "No result came late.")
		w.opts.CountEvery = time.Nanosecond
		w.serve()
		oldest := w.doubt("first")
		w.doubt("second")
		w.race("race")
		w.page(w.get(""), http.StatusOK, `<span class="n">2</span><span class="badge unknown">`, `<span class="n">1</span><span class="badge late">`,
			"jobs/"+string(oldest.JobID), "<strong>1</strong> result came late and was thrown away.")
	})
}

// Counting reads the whole table: not for each look.
func TestCountsAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Jobs, nil)
	w.opts.Now = env.Now
	w.serve()
	w.page(w.get(""), http.StatusOK, `<span class="n">0</span><span class="badge unknown">`, "Counted just now")
	w.doubt("k")
	env.Advance(59 * time.Second)
	w.page(w.get(""), http.StatusOK, `<span class="n">0</span><span class="badge unknown">`, "Counted 59 s ago", "The oldest attempt in doubt began")
	env.Advance(time.Second)
	w.page(w.get(""), http.StatusOK, `<span class="n">1</span><span class="badge unknown">`, "Counted just now")
}

func TestRacesAreCountedByTheHour(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Jobs, nil)
	w.opts.Now = env.Now
	env.Advance(env.Now().Truncate(time.Hour).Add(time.Hour).Sub(env.Now())) // a full hour
	w.race("too old")
	env.Advance(24 * time.Hour)
	oldest := env.Now().Add(-23 * time.Hour)
	w.serve()
	w.page(w.get(""), http.StatusOK, "No result came late.")
	env.Advance(10 * time.Minute)
	first := env.Now()
	w.race("a")
	w.race("b")
	env.Advance(2 * time.Hour)
	w.race("c")
	w.page(w.get(""), http.StatusOK, "<strong>3</strong> results came late and were thrown away.", "2 per hour",
		fmt.Sprintf("%s: 2. ", first.Format("15:00")), fmt.Sprintf("%s: 1. ", env.Now().Format("15:00")))
	require.NotEqual(t, oldest, first)
}

// An outage is a page that says so, not a stack; and what the host logs holds no
// keys.
func TestADatabaseThatGivesNoAnswerIsAClearPage(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Jobs, nil)
	var logs bytes.Buffer
	w.opts.Now, w.opts.Logger = env.Now, slog.New(slog.NewTextHandler(&logs, nil))
	w.serve()
	a := w.doubt("canary-key")
	path := "attempts/" + string(a.ID) + "/refute"
	form := w.review(path, says("ada", "voided"))
	env.Down()
	for _, path := range []string{"", "attempts", "jobs/" + string(a.JobID), path} {
		w.page(w.get(path), http.StatusServiceUnavailable, "The database gave no answer", "Reload the page")
	}
	w.page(w.post("find", map[string][]string{"owner": {"user-7"}, "key": {"canary-key"}}), http.StatusServiceUnavailable)
	w.page(w.post(path, form), http.StatusServiceUnavailable)
	require.Contains(t, logs.String(), "console: no page")
	require.NotContains(t, logs.String(), "canary")
	env.Up()

	// The decision is stored, and neither its reply nor a look at it comes through.
	env.CutReplyThenDown()
	told := w.page(w.post(path, form), http.StatusServiceUnavailable, "may have been stored, or not", "voided")
	again := fields(told)
	again.Set("step", "apply")
	env.Up()
	require.Equal(t, http.StatusSeeOther, w.post(path, again).StatusCode)
	_, now := w.stands(a.ID)
	require.Equal(t, onejob.StateFailed, now.State)
}

// A database that does not answer at all is given up on.
func TestADatabaseThatHangsIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		if w.db == nil {
			return // SQLite's readers wait for nobody
		}
		w.opts.Timeout = 300 * time.Millisecond
		w.serve()
		a := w.doubt("k")
		tx, err := w.db.BeginTx(context.Background(), nil)
		require.NoError(w, err)
		defer tx.Rollback()
		_, err = tx.Exec("LOCK TABLE onejob.jobs IN ACCESS EXCLUSIVE MODE")
		require.NoError(w, err)
		for _, path := range []string{"", "attempts", "jobs/" + string(a.JobID)} {
			w.page(w.get(path), http.StatusServiceUnavailable, "The database gave no answer")
		}
	})
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	_, err := console.New(nil, nil)
	require.EqualError(t, err, "console: jobs are required")
	env := onejobtest.New(t, nil)
	_, err = console.New(env.Jobs, &console.Options{Timeout: -1})
	require.Error(t, err)
	_, err = console.New(env.Jobs, &console.Options{TrustedOrigins: []string{"ops.example.com"}})
	require.ErrorContains(t, err, "Options.TrustedOrigins")
}
