package onejobtest

import (
	"context"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/invariants"
)

// maxStories is how many jobs' stories are logged: a test with a thousand jobs
// must not bury its own message.
const maxStories = 20

// check runs when the test ends.
func (e *Env) check() {
	e.t.Helper()
	broken, err := invariants.Broken(context.Background(), e.DB, "onejob_")
	if err != nil {
		e.t.Errorf("onejobtest: the rows could not be checked: %v", err)
	}
	for _, line := range broken {
		e.t.Errorf("onejobtest: broken invariant: %s", line)
	}
	e.door.mu.Lock()
	waiting := e.door.link.cut
	e.door.mu.Unlock()
	if waiting && !e.t.Failed() {
		e.t.Errorf("onejobtest: a cut of a reply was asked for, and nothing was written after that")
	}
	if e.t.Failed() {
		e.tell()
	}
}

// tell logs the stories of the jobs in the order in which they were created.
func (e *Env) tell() {
	e.t.Helper()
	rows, err := e.DB.Query("SELECT id FROM onejob_jobs ORDER BY rowid LIMIT ?", maxStories+1)
	if err != nil {
		e.t.Logf("onejobtest: no stories: %v", err)
		return
	}
	defer rows.Close()
	var ids []onejob.JobID
	for rows.Next() {
		var id onejob.JobID
		if err := rows.Scan(&id); err != nil {
			e.t.Logf("onejobtest: no stories: %v", err)
			return
		}
		ids = append(ids, id)
	}
	for i, id := range ids {
		if i == maxStories {
			e.t.Logf("onejobtest: and more jobs")
			return
		}
		e.t.Logf("onejobtest: job %s\n%s", id, e.Timeline(id))
	}
}
