package main

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

func TestOpenListsTheOldestFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		require.Contains(w, w.does("open"), "nothing is open")
		running, _ := w.started(intent("running"), "acme-pay")
		_, doubt := w.unknown(intent("doubt"), "acme-pay")
		overdue, _ := w.started(intent("overdue"), "other-pay")
		w.earlier(overdue.ID, 3*time.Hour)
		_, free := w.unknown(intent("free"), "acme-pay")
		_, err := w.op.DetachAttempt(w.Context(), free.ID, ada)
		require.NoError(w, err)
		w.completed(intent("done"), "acme-pay")

		doc := document[attempts](w, exitDone, "open")
		require.Contains(w, w.does("open"), "3 attempts: 2 unknown, 1 started; 1 detached: add --detached. Next:")
		require.Contains(w, w.does("open", "--owner", "nobody"), "nothing that is open matches these flags\n")
		require.NotContains(w, w.does("open", "--detached"), "add --detached")
		require.NotContains(w, w.does("open", "--state", "unknown"), "add --detached")
		require.Len(w, doc.Attempts, 3)
		require.Equal(w, string(overdue.ID), doc.Attempts[0].Job.ID)
		require.Equal(w, onejob.StateUnknown, doc.Attempts[0].State, "swept or not")
		require.Equal(w, string(running.ID), doc.Attempts[1].Job.ID)
		require.Equal(w, "EOF", doc.Attempts[2].Cause)
		require.Len(w, document[attempts](w, exitDone, "open", "--detached").Attempts, 4)
		require.Len(w, document[attempts](w, exitDone, "open", "--state", "detached").Attempts, 1)
		require.Len(w, document[attempts](w, exitDone, "open", "--state", "unknown").Attempts, 2)
		require.Len(w, document[attempts](w, exitDone, "open", "--provider", "other-pay").Attempts, 1)
		require.Len(w, document[attempts](w, exitDone, "open", "--before", "1h").Attempts, 1)
		few := document[attempts](w, exitDone, "open", "--limit", "2")
		require.Len(w, few.Attempts, 2)
		require.True(w, few.More)
		require.Contains(w, w.does("open", "--limit", "2"), "There are more than these 2")
		require.NotContains(w, w.does("open", "--limit", "3"), "more than these")

		table := w.does("open")
		require.Contains(w, table, "3 attempts: 2 unknown, 1 started")
		require.Regexp(w, `3h\s+20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ\s+unknown\s+2h\s+other-pay\s+charge\s+user-7\s+overdue`, table)
		require.Contains(w, table, string(doubt.ID))
		for line := range strings.Lines(table) {
			require.LessOrEqual(w, len(line), 120)
		}
	})
}

func TestShowTellsTheStory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.late(intent("order-1042"))
		out := w.does("show", string(job.ID))
		for _, want := range []string{": COMPLETED, done", "user-7", "order-1042", "Attempt 1 by acme-pay: LATE", "Attempt 2 by other-pay: SUCCEEDED",
			"last decision  ada: acme is down", "a result of 11 bytes was thrown away", "attempt 2 succeeded: it won",
			"job completed: attempt 2 by other-pay has won", "attempt 1 came late: 11 bytes thrown away", "a refund"} {
			require.Contains(w, out, want)
		}
		require.Less(w, strings.Index(out, "attempt 1 began"), strings.Index(out, "attempt 2 began"))
		require.Less(w, strings.Index(out, "attempt 2 succeeded"), strings.Index(out, "attempt 1 came late"))

		overdue, _ := w.started(intent("overdue"), "acme-pay")
		w.earlier(overdue.ID, 3*time.Hour)
		out = w.does("show", string(overdue.ID))
		require.Contains(w, out, ": UNKNOWN, an attempt may or may not have taken effect, and blocks the next")
		require.Contains(w, out, "passed its deadline: unknown from here on, for 2h")
		require.Contains(w, out, "onejob refute "+string(overdue.Attempt.ID))
		doc := document[struct {
			Job      struct{ Status string }
			Timeline []struct {
				Event   string
				Attempt int
				At      time.Time
			}
		}](w, exitDone, "show", string(a.ID))
		var events []string
		var last time.Time
		for i, e := range doc.Timeline {
			events = append(events, e.Event)
			require.Equal(w, e.Event == "doubt" || e.Event == "detached", e.At.IsZero(), "those are not stored")
			require.True(w, e.At.IsZero() || !e.At.Before(last), "in order: %d", i)
			last = later(last, e.At)
		}
		require.Equal(w, []string{"created", "began", "doubt", "detached", "began", "succeeded", "completed", "late", "now"}, events)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestShowSaysWhatMayBeDoneOfEachState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		running, _ := w.started(intent("running"), "acme-pay")
		require.Contains(w, w.does("show", string(running.ID)), "may still be at work: wait for its deadline")
		pending, _, err := w.jobs.Create(w.Context(), intent("pending"))
		require.NoError(w, err)
		require.Contains(w, w.does("show", string(pending.ID)), "Nothing blocks the job.")
		withdrawn, a := w.unknown(intent("withdrawn"), "acme-pay")
		_, err = w.op.CancelJob(w.Context(), withdrawn.ID, ada)
		require.NoError(w, err)
		out := w.does("show", string(withdrawn.ID))
		require.Contains(w, out, "job canceled, by ada: acme is down")
		require.Contains(w, out, "its effect is one too many, the job is canceled: undo it, then cancel")
		require.NotContains(w, out, "onejob detach")
		_, err = w.jobs.Complete(w.Context(), w.now(a.ID), []byte("came back"))
		require.ErrorIs(w, err, onejob.ErrLateResult)
		require.Contains(w, w.does("show", string(withdrawn.ID)), "brought a result that was thrown away")

		done, _ := w.completed(intent("purged"), "acme-pay")
		w.earlier(done.ID, 100*time.Hour)
		w.does("purge", "--older-than", "1d", "--yes")
		out = w.does("show", string(done.ID))
		require.Contains(w, out, "params, result and most attempts are gone")
		require.NotContains(w, out, "payloads shows")
	})
}

func TestLateListsWhatMayMeanARefund(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		require.Contains(w, w.does("late"), "no result came late")
		old, first := w.late(intent("old"))
		w.earlier(old.ID, 48*time.Hour)
		_, second := w.late(intent("new"))
		out := w.does("late")
		require.Contains(w, out, string(first.ID))
		require.Contains(w, out, string(second.ID))
		require.Contains(w, out, "lost to attempt 2 by other-pay")
		require.Contains(w, out, "2 results came late")
		for since, want := range map[string]int{"24h": 1, "3d": 2, "2099-01-01": 0} {
			require.Len(w, document[attempts](w, exitDone, "late", "--since", since).Attempts, want, since)
		}
		require.Empty(w, document[attempts](w, exitDone, "late", "--owner", "user-8").Attempts)
		require.Len(w, document[attempts](w, exitDone, "late", "--limit", "1").Attempts, 1)
	})
}

func TestStatsCounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.late(intent("late"))
		w.started(intent("running"), "acme-pay")
		doubt, _ := w.unknown(intent("doubt"), "acme-pay")
		w.earlier(doubt.ID, 3*time.Hour)
		doc := document[struct {
			Jobs, Attempts map[string]int64
			OldestUnknown  time.Time `json:"oldest_unknown"`
		}](w, exitDone, "stats")
		require.Equal(w, map[string]int64{"open": 2, "completed": 1, "canceled": 0, "purged": 0}, doc.Jobs)
		require.Equal(w, map[string]int64{"started": 1, "unknown": 1, "detached": 0, "late": 1}, doc.Attempts)
		require.WithinDuration(w, time.Now().Add(-3*time.Hour), doc.OldestUnknown, time.Minute)
		require.Regexp(w, `unknown +1, the oldest began .* \(3h ago\)`, w.does("stats"))
	})
}

func TestQualificationsAreListedWithTheirStanding(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		require.Contains(w, w.does("qualifications"), "no provider has proven anything")
		save := func(provider string, passes int, ttl time.Duration) onejob.Qualification {
			q, err := w.op.SaveQualification(w.Context(), onejob.Qualification{Provider: provider, Runs: 3, Passes: passes,
				Requirement: onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}, Evidence: []byte("payload-canary")}, ttl)
			require.NoError(w, err)
			return q
		}
		save("a-current", 3, time.Hour)
		save("b-failed", 2, time.Hour)
		save("c-expired", 3, time.Microsecond)
		revoked := save("d-revoked", 3, time.Hour)
		_, err := w.op.RevokeQualification(w.Context(), "d-revoked", revoked.Requirement, ada)
		require.NoError(w, err)
		type list struct {
			Qualifications []struct {
				Provider, Status string
				Evidence         *struct{ Text string }
			}
		}
		doc := document[list](w, exitDone, "qualifications")
		require.Len(w, doc.Qualifications, 4)
		for _, q := range doc.Qualifications {
			require.Equal(w, q.Provider[2:], q.Status)
			require.Nil(w, q.Evidence)
		}
		require.Len(w, document[list](w, exitDone, "qualifications", "--provider", "b-failed").Qualifications, 1)
		require.Equal(w, "payload-canary", document[list](w, exitDone, "qualifications", "--payloads").Qualifications[0].Evidence.Text)
		require.Contains(w, w.does("qualifications"), "by ada: acme is down")
	})
}

func TestPayloadsAreShownOnlyWhereAskedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		job, a := w.completed(intent("k"), "acme-pay")
		doubt, b := w.unknown(intent("doubt"), "acme-pay")
		late, _ := w.late(intent("late"))
		for _, args := range [][]string{
			{"open"}, {"late"}, {"stats"}, {"show", string(job.ID)}, {"show", string(doubt.ID)}, {"show", string(late.ID)},
			with(byBob, "refute", string(a.ID), "--yes"), with(byBob, "refute", string(b.ID), "--yes"), with(byBob, "cancel-job", string(job.ID), "--yes"),
		} {
			for _, more := range [][]string{nil, {"--json"}} {
				s := w.run(append(args, more...)...)
				require.NotContains(w, s.out+s.err, "canary", "%v", args)
			}
		}
		out := w.does("show", string(job.ID), "--payloads")
		require.Contains(w, out, `{"card":"payload-canary"}`)
		require.Contains(w, out, `{"receipt":"payload-canary"}`)
		doc := document[struct {
			Job struct{ Params, Result struct{ Text string } }
		}](w, exitDone, "show", string(job.ID), "--payloads")
		require.Equal(w, `{"receipt":"payload-canary"}`, doc.Job.Result.Text)

		_, c := w.started(onejob.Intent{Owner: "user-7", Key: "bytes", Kind: "print", Params: []byte{0xff, 0x1b, '[', 'm'}, Opaque: true}, "acme-pay")
		out = w.does("show", string(c.ID), "--payloads")
		require.Contains(w, out, "ff 1b 5b 6d")
		binary := document[struct {
			Job struct{ Params struct{ Base64 []byte } }
		}](w, exitDone, "show", string(c.ID), "--payloads")
		require.Equal(w, []byte{0xff, 0x1b, '[', 'm'}, binary.Job.Params.Base64)
	})
}

// hostile is what a stranger may put where nobody looks for it: colors, a title,
// a move of the cursor, a C1 control, a turn of the direction, nothing visible.
const hostile = "\x1b[31mred\x1b]0;title\a\x9b2J\u009b1A\u202egnp.exe\u200b\r\n\x7f\x08"

func TestNoTextOfStrangersReachesTheTerminalRaw(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		// Owner, key and kind may hold no control characters, but the rest.
		in := onejob.Intent{Owner: "u\u202e7", Key: "k\u200b\u2066", Kind: "c\u2028", Target: "t\ufeff", Params: []byte("\"\u202e\u009b\"")}
		_, a := w.started(in, "p\u202e")
		_, err := w.jobs.SetExternalRef(w.Context(), a, "ref\u202e")
		require.NoError(w, err)
		_, err = w.jobs.MarkUnknown(w.Context(), a, errors.New(hostile))
		require.NoError(w, err)
		term := w.sit("refute", "--all", "--provider", "p\u202e", "--by", "b\u202eob", "--reason", hostile)
		term.waits("Type yes:")
		term.types("no\n")
		screen := term.exits(exitNotConfirmed)
		requireHarmless(w.T, screen[:strings.Index(screen, "Type yes:")])
		for _, args := range [][]string{
			{"open"}, {"show", string(a.ID), "--payloads"}, {"refute", "--all", "--provider", "p\u202e", "--dry-run"},
			{"refute", string(a.ID), "--by", "b\u202eob", "--reason", hostile, "--yes"},
			{"refute", string(a.ID), "--by", "eve", "--reason", "r", "--yes"},
			{"cancel", string(a.ID), "--by", "eve", "--reason", "r", "--yes"},
			{"show", string(a.ID)}, {"show", hostile}, {hostile}, {"open", "--" + hostile}, {"open", "--state", hostile}, {"open", "--before", hostile},
			{"show", "--owner", hostile, "--key", "k"},
			{"--dsn", "/tmp/none" + strings.ReplaceAll(hostile, "\x00", ""), "open"}, {"--schema", hostile, "open"},
		} {
			for _, more := range [][]string{nil, {"--json"}} {
				s := w.run(append(args, more...)...)
				requireHarmless(w.T, s.out)
				requireHarmless(w.T, s.err)
			}
		}
		doc := document[attempts](w, exitDone, "open", "--provider", "p\u202e")
		require.Empty(w, doc.Attempts)
		shown := document[struct {
			Job      struct{ Owner, Key string }
			Attempts []struct{ Cause, Reason string }
		}](w, exitDone, "show", string(a.ID))
		require.Equal(w, in.Owner, shown.Job.Owner, "programs get it as it is")
		require.Equal(w, in.Key, shown.Job.Key)
		require.Equal(w, strings.ToValidUTF8(hostile, "\ufffd"), shown.Attempts[0].Cause)
	})
}

func requireHarmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") { // a terminal makes CR LF of LF
		require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp)), "%U in %q", r, text)
	}
}

// Programs rest on these names, and README.md lists them.
func TestTheFieldsOfJSONAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, fields, found := strings.Cut(string(text), "## JSON")
	require.True(t, found)
	fields, _, _ = strings.Cut(fields, "\n## ")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(fields, -1) {
		documented[m[1]] = true
	}
	onBoth(t, func(w *world) {
		late, _ := w.late(intent("late"))
		_, a := w.unknown(intent("k"), "acme-pay")
		_, err := w.jobs.SetExternalRef(w.Context(), a, "ch_1")
		require.NoError(w, err)
		_, err = w.op.SaveQualification(w.Context(), onejob.Qualification{Provider: "p", Runs: 3, Passes: 3,
			Requirement: onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}}, time.Hour)
		require.NoError(w, err)
		seen := map[string]bool{}
		for _, args := range [][]string{
			{"open"}, {"late"}, {"stats"}, {"doctor"}, {"qualifications", "--payloads"}, {"show", string(late.ID), "--payloads"}, {"show", string(a.ID)},
			with(byBob, "refute", string(a.ID), "--yes"), with(byBob, "refute", "--all", "--kind", "charge", "--yes"),
			with(byBob, "cancel-job", string(a.ID.Job()), "--yes"), {"sweep"}, {"purge", "--older-than", "1d", "--dry-run"},
			{"migrate", "status"}, {"migrate", "up"}, {"migrate", "print"}, {"nonsense"},
		} {
			s := w.run(append(args, "--json")...)
			text := s.out
			if text == "" {
				text = s.err
			}
			var doc any
			require.NoError(w, json.Unmarshal([]byte(text), &doc), text)
			keysOf(doc, seen)
		}
		for key := range seen {
			require.True(w, documented[key], "README.md does not tell of %s", key)
		}
		for _, key := range []string{"attempts", "late_sha256", "params_size", "oldest_unknown", "error", "exit_code", "summary"} {
			require.True(w, seen[key], key)
		}
	})
}

func keysOf(doc any, seen map[string]bool) {
	switch d := doc.(type) {
	case map[string]any:
		for key, v := range d {
			if !slices.Contains([]string{"decided", "already"}, key) {
				seen[key] = true
			}
			keysOf(v, seen)
		}
	case []any:
		for _, v := range d {
			keysOf(v, seen)
		}
	}
}
