package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	h "github.com/onejob-go/onejob/faults/history"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const id = "01a00000-0000-7000-8000-000000000001"

// story is a history in which one operation follows the other.
type story []h.Operation

func (s *story) add(c h.Call, r *h.Reply) *story {
	at := int64(len(*s)+1) * 10
	c.ID, c.Key, c.At = fmt.Sprint("op", len(*s)), "KEY-1", at
	if r != nil {
		r.At = at + 5
	}
	*s = append(*s, h.Operation{Call: c, Reply: r})
	return s
}

func attemptID(n int) string { return fmt.Sprintf("%s-%016d", id, n) }

func (s *story) created() *story {
	return s.add(h.Call{Op: "Create", Mint: id}, &h.Reply{Code: h.Created, Job: id, State: open, Version: 1})
}

func (s *story) begun(n int) *story {
	return s.add(h.Call{Op: "BeginAttempt", Attempt: attemptID(n)}, &h.Reply{Code: h.OK, Job: id, Attempt: attemptID(n), AState: started})
}

func (s *story) detached(n int) *story {
	return s.add(h.Call{Op: "DetachAttempt", Attempt: attemptID(n)}, &h.Reply{Code: h.OK, Job: id, State: open, Version: 1})
}

func (s *story) won(n int, digest string) *story {
	return s.add(h.Call{Op: "Complete", Attempt: attemptID(n), Digest: digest},
		&h.Reply{Code: h.OK, Job: id, State: completed, Version: 2, Winner: attemptID(n), Digest: digest})
}

// opened is a reply that shows the job open, over one that it is over with a
// winner, and withdrawn one that it is canceled.
func opened(code string, n int, state string) *h.Reply {
	r := &h.Reply{Code: code, Job: id, State: open, Version: 1, AState: state}
	if n > 0 {
		r.Attempt = attemptID(n)
	}
	return r
}

func over(code string, n int, digest string) *h.Reply {
	return &h.Reply{Code: code, Job: id, State: completed, Version: 2, Winner: attemptID(n), Digest: digest}
}

func at(when int64, r *h.Reply) *h.Reply {
	r.At = when
	return r
}

func withdrawn(code string) *h.Reply {
	return &h.Reply{Code: code, Job: id, State: canceled, Version: 2}
}

func completedRow(n int, digest string, attempts ...string) *row {
	r := &row{id: id, key: "KEY-1", state: completed, version: 2, winner: attemptID(n), digest: digest, attempts: map[string]string{}}
	for i, state := range attempts {
		r.attempts[attemptID(i+1)] = state
	}
	return r
}

func openRow(attempts ...string) *row {
	r := completedRow(0, "", attempts...)
	r.state, r.version, r.winner = open, 1, ""
	return r
}

// A checker that accepts everything proves nothing: each of these is one broken
// promise, beside the nearest history that keeps it.
func TestBrokenPromisesAreFound(t *testing.T) {
	t.Parallel()
	unheard := (*h.Reply)(nil)
	two := func() *story { return new(story).created().begun(1).detached(1).begun(2).won(2, "bb") }
	loss, lost := h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, completedRow(2, "bb", late, succeeded)
	for _, c := range []struct {
		name  string
		story *story
		row   *row
		want  string // "" if it keeps its promises
	}{
		{"one winner", new(story).created().begun(1).won(1, "aa"), completedRow(1, "aa", succeeded), ""},
		{"I1: two winners", new(story).created().begun(1).detached(1).begun(2).won(1, "aa").won(2, "bb"), completedRow(2, "bb", late, succeeded), "I1"},
		{"I2: the result changes", new(story).created().begun(1).won(1, "aa"), completedRow(1, "bb", succeeded), "I1, I2"},
		{"I3: two open attempts", new(story).created().begun(1).begun(2), openRow(started, started), "I15"},
		{"I4: unknown ends by itself", new(story).created().begun(1).
			add(h.Call{Op: "MarkUnknown", Attempt: attemptID(1)}, opened(h.OK, 0, "")).
			add(h.Call{Op: "BeginAttempt", Attempt: attemptID(1)}, opened(h.InDoubt, 1, unknown)).
			add(h.Call{Op: "BeginAttempt", Attempt: attemptID(1)}, opened(h.OK, 1, started)),
			openRow(started), "I4"},
		{"I4: time ends a doubt", new(story).created().begun(1).begun(2), openRow(failed, started), "I15"},
		{"I5: a winner is told that it lost", new(story).created().begun(1).
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, over(h.Late, 1, "aa")),
			completedRow(1, "aa", succeeded), "I15"},
		{"I5: a loser is told of another winner", new(story).created().begun(1).detached(1).begun(2).won(2, "bb").
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, over(h.Late, 1, "aa")),
			completedRow(2, "bb", late, succeeded), "I5"},
		{"I6: the winner comes again", new(story).created().begun(1).won(1, "aa").won(1, "aa"), completedRow(1, "aa", succeeded), ""},
		{"I6: and is told that it lost", new(story).created().begun(1).won(1, "aa").
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, over(h.Late, 1, "aa")),
			completedRow(1, "aa", succeeded), "I15"},
		{"I7: two jobs of one key", new(story).created().
			add(h.Call{Op: "Create", Mint: "other"}, &h.Reply{Code: h.Created, Job: "other", State: open, Version: 1}), openRow(), "I7"},
		{"I7: other input is taken", new(story).created().
			add(h.Call{Op: "Create", Mint: "other", Input: 1}, opened(h.OK, 0, "")), openRow(), "I15"},
		{"I10: an acknowledged job is gone", new(story).created(), nil, "I10"},
		{"I10: an acknowledged attempt is gone", new(story).created().begun(1), openRow(), "I15"},
		{"an attempt of unknown fate is there", new(story).created().add(h.Call{Op: "BeginAttempt", Attempt: attemptID(1)}, unheard), openRow(started), ""},
		{"or is not", new(story).created().add(h.Call{Op: "BeginAttempt", Attempt: attemptID(1)}, unheard), openRow(), ""},
		{"it may win late, after its process is dead", new(story).created().begun(1).
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, unheard).
			add(h.Call{Op: "Get"}, opened(h.OK, 1, started)),
			completedRow(1, "aa", succeeded), ""},
		{"I11: a refused attempt is there", new(story).created().begun(1).
			add(h.Call{Op: "BeginAttempt", Attempt: attemptID(2)}, opened(h.Open, 1, started)),
			openRow(failed, started), "I15"},
		{"I13: the version jumps", new(story).created().
			add(h.Call{Op: "Get"}, &h.Reply{Code: h.OK, Job: id, State: open, Version: 2}), openRow(), "I15"},
		{"I15: a read goes back in time", new(story).created().begun(1).won(1, "aa").
			add(h.Call{Op: "Get"}, opened(h.OK, 1, started)),
			completedRow(1, "aa", succeeded), "I15"},
		{"a canceled attempt wins", new(story).created().begun(1).
			add(h.Call{Op: "CancelAttempt", Attempt: attemptID(1)}, opened(h.OK, 0, "")).won(1, "aa"),
			completedRow(1, "aa", succeeded), "I15"},
		{"an attempt begins on a canceled job", new(story).created().
			add(h.Call{Op: "CancelJob"}, withdrawn(h.OK)).begun(1), openRow(started), "I15"},
		{"its driver sent Create twice, and others were quick between", &story{
			{Call: h.Call{ID: "create", Key: "KEY-1", Op: "Create", Mint: id, At: 10}, Reply: &h.Reply{Code: h.Created, Job: id, State: open, Version: 1, Attempt: attemptID(1), AState: started, At: 50}},
			{Call: h.Call{ID: "begin", Key: "KEY-1", Op: "BeginAttempt", Attempt: attemptID(1), At: 20}, Reply: &h.Reply{Code: h.OK, Job: id, Attempt: attemptID(1), AState: started, At: 30}},
		}, openRow(started), ""},
		{"its driver sent Start twice, and the first had begun beside a winner", &story{
			{Call: h.Call{ID: "create", Key: "KEY-1", Op: "Create", Mint: id, At: 10}, Reply: &h.Reply{Code: h.Created, Job: id, State: open, Version: 1, At: 11}},
			{Call: h.Call{ID: "begin", Key: "KEY-1", Op: "BeginAttempt", Attempt: attemptID(1), At: 20}, Reply: &h.Reply{Code: h.OK, Job: id, Attempt: attemptID(1), AState: started, At: 21}},
			{Call: h.Call{ID: "detach", Key: "KEY-1", Op: "DetachAttempt", Attempt: attemptID(1), At: 30}, Reply: at(31, opened(h.OK, 0, ""))},
			{Call: h.Call{ID: "start", Key: "KEY-1", Op: "Start", Attempt: attemptID(2), At: 40}, Reply: &h.Reply{Code: h.OK, Job: id, State: completed, Version: 2,
				Winner: attemptID(1), Digest: "aa", Attempt: attemptID(2), AState: started, At: 60}},
			{Call: h.Call{ID: "complete", Key: "KEY-1", Op: "Complete", Attempt: attemptID(1), Digest: "aa", At: 50}, Reply: at(51, over(h.OK, 1, "aa"))},
		}, completedRow(1, "aa", succeeded, started), ""},
		{"a loser is told", two().add(loss, over(h.Late, 2, "bb")), lost, ""},
		{"I5: a loser is not told to whom", two().add(loss, &h.Reply{Code: h.Late}), lost, "I15"},
		{"I5: a loser is told that the job is open", two().add(loss, opened(h.Late, 0, "")), lost, "I15"},
		{"I5: a loser is told that the job is canceled", two().add(loss, withdrawn(h.Canceled)), lost, "I15"},
		{"I13: the winner is told of an open job of version 7", new(story).created().begun(1).
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"},
				&h.Reply{Code: h.OK, Job: id, State: open, Version: 7, Winner: attemptID(1), Digest: "aa"}), completedRow(1, "aa", succeeded), "I15"},
		{"Create shows a job as it was", new(story).created().begun(1).won(1, "aa").
			add(h.Call{Op: "Create", Mint: "other"}, opened(h.OK, 1, started)), completedRow(1, "aa", succeeded), "I15"},
		{"Refute of the winner does not say what it is", new(story).created().begun(1).won(1, "aa").
			add(h.Call{Op: "Refute", Attempt: attemptID(1)}, over(h.Ended, 1, "aa")), completedRow(1, "aa", succeeded), "I15"},
		{"a canceled attempt is told that the job is done", new(story).created().begun(1).
			add(h.Call{Op: "CancelAttempt", Attempt: attemptID(1)}, opened(h.OK, 0, "")).
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, opened(h.Complete, 0, "")), openRow(canceled), "I15"},
		{"a conflict names no job", new(story).created().
			add(h.Call{Op: "Create", Mint: "other", Input: 1}, &h.Reply{Code: h.Conflict}), openRow(), "I15"},
		{"I4: a deadline has passed, and has not", new(story).created().
			add(h.Call{Op: "BeginAttempt", Attempt: attemptID(1), Short: true}, opened(h.OK, 1, started)).
			add(h.Call{Op: "Get"}, opened(h.OK, 1, unknown)).add(h.Call{Op: "Get"}, opened(h.OK, 1, started)), openRow(started), "I4"},
		{"the winner's repeat is refused by its host", new(story).created().begun(1).won(1, "aa").
			add(h.Call{Op: "Complete", Attempt: attemptID(1), Digest: "aa"}, &h.Reply{Code: h.Refused}), completedRow(1, "aa", succeeded), "I15"},
		{"an error that nobody must see", new(story).created().
			add(h.Call{Op: "Get"}, &h.Reply{Code: h.Wrong, Error: "no such column"}), openRow(), "must see"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var v Verdict
			v.judge(map[string][]h.Operation{"KEY-1": *c.story}, map[string]*row{"KEY-1": c.row})
			all := strings.Join(v.Violations, "\n")
			if c.want == "" {
				require.Empty(t, all)
				return
			}
			require.Contains(t, all, c.want)
		})
	}
}

// Secrets are found wherever they lie, and only there.
func TestSecretsAreFoundInEveryColumn(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"postgres", "sqlite"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			db := plant(t, store)
			found, err := Secrets(t.Context(), db, Tables(store))
			require.NoError(t, err)
			require.Empty(t, found)
			for table, columns := range map[string][]string{"jobs": {"reason", "kind"}, "attempts": {"cause", "provider", "external_ref", "reason"}} {
				for _, column := range columns {
					_, err := db.Exec("UPDATE " + Tables(store) + table + " SET " + column + " = 'so RESULT-1 was lost'")
					require.NoError(t, err)
					found, err := Secrets(t.Context(), db, Tables(store))
					require.NoError(t, err)
					require.Len(t, found, 1, column)
					_, err = db.Exec("UPDATE " + Tables(store) + table + " SET " + column + " = 'x'")
					require.NoError(t, err)
				}
			}
		})
	}
}
