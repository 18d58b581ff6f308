// Package checker tells whether a history and the rows it left keep what the
// library promises.
package checker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	h "github.com/onejob-go/onejob/faults/history"
)

// attempt and job are the state of the sequential specification of one key: what
// one caller at a time would find. They compare with ==.
type attempt struct {
	id, state string
	short     bool
}

type job struct {
	id, state, winner, digest string
	input, n                  int
	attempts                  [MaxAttempts]attempt
}

// MaxAttempts is the limit that workers set.
const MaxAttempts = 8

const (
	started, unknown, detached, succeeded, failed, canceled, late = "started", "unknown", "detached", "succeeded", "failed", "canceled", "late"
	open, completed                                               = "open", "completed"
)

func (j *job) find(id string) *attempt {
	for i := range j.n {
		if j.attempts[i].id == id {
			return &j.attempts[i]
		}
	}
	return nil
}

func (j *job) open() *attempt {
	for i := range j.n {
		if a := &j.attempts[i]; a.state == started || a.state == unknown {
			return a
		}
	}
	return nil
}

func (a *attempt) live() bool {
	return a.state == started || a.state == unknown || a.state == detached
}

// told reports whether a reader may have been told this state. Time turns
// started into unknown when nobody looks, so nothing is known of which of the
// two an attempt with a short deadline is in.
func (a *attempt) told(state string) bool {
	return a.state == state || a.short && a.state == started && state == unknown
}

// shows reports whether the job in a reply is the job as it is.
func (j *job) shows(r *h.Reply) bool {
	return r.Job == j.id && r.State == j.state && r.Version == j.version() &&
		(j.state != completed || r.Winner == j.winner && r.Digest == j.digest)
}

// version rises by one with each change of the job's row, of which there is one.
func (j *job) version() int64 {
	if j.state == open {
		return 1
	}
	return 2
}

// shownLater is shows for a job that may have been read a moment after the
// change that the reply tells of: it may be over by then. That it is over with
// the right winner is looked at elsewhere.
func (j *job) shownLater(r *h.Reply) bool {
	later := *j
	if j.state == open && r.State != open {
		later.state, later.winner, later.digest = r.State, r.Winner, r.Digest
	}
	return later.shows(r)
}

// step applies a call to a job and reports whether the reply fits. A call
// without a reply takes what effect it can.
func step(j job, c h.Call, r *h.Reply) (bool, job) {
	// code: the reply is one of these, and shows the job.
	code := func(codes ...string) bool { return r == nil || slices.Contains(codes, r.Code) && j.shows(r) }
	switch c.Op {
	case "Create", "Start":
		made := j.id == ""
		if made {
			j = job{id: c.Mint, state: open, input: c.Input}
		}
		switch {
		case j.input != c.Input:
			return code(h.Conflict), j
		case c.Op == "Start":
			return begin(j, c, r)
		case made || r != nil && r.Code == h.Created: // which its driver may have sent twice
			return code(h.Created) && j.id == c.Mint && j.showsAttempt(r), j
		}
		return code(h.OK) && j.showsAttempt(r), j
	case "BeginAttempt":
		return begin(j, c, r)
	case "Get":
		if j.id == "" {
			return r == nil || r.Code == h.NotFound, j
		}
		return code(h.OK) && j.showsAttempt(r), j
	case "List":
		return list(j, r), j
	case "CancelJob":
		if j.state == completed {
			return code(h.Complete), j
		}
		j.state = canceled
		return code(h.OK), j
	}
	a := j.find(c.Attempt)
	if a == nil {
		return r == nil || r.Code == h.NotFound, j
	}
	switch c.Op {
	case "Complete", "Confirm":
		return complete(j, a.id, c, r)
	case "Fail":
		if c.Proof {
			return settle(j, a.id, failed, r)
		}
		return settle(j, a.id, unknown, r)
	case "MarkUnknown":
		return settle(j, a.id, unknown, r)
	case "Refute":
		return settle(j, a.id, failed, r)
	case "CancelAttempt":
		return settle(j, a.id, canceled, r)
	case "DetachAttempt":
		return settle(j, a.id, detached, r)
	}
	panic("checker: no such operation: " + c.Op)
}

// showsAttempt reports whether the attempt in the reply is the one that a reader
// of the job is shown: the open one, or the winner.
func (j *job) showsAttempt(r *h.Reply) bool {
	if r == nil {
		return true
	}
	if j.state == completed {
		return r.Attempt == j.winner
	}
	blocker := j.open()
	if blocker == nil {
		return r.Attempt == ""
	}
	return r.Attempt == blocker.id && blocker.told(r.AState)
}

func begin(j job, c h.Call, r *h.Reply) (bool, job) {
	code := func(codes ...string) bool { return r == nil || slices.Contains(codes, r.Code) && j.shows(r) }
	own := func(a *attempt) bool { return r == nil || r.Attempt == a.id && a.told(r.AState) }
	id := c.Attempt
	if c.Op == "Start" && len(id) > 36 && id[:36] != j.id {
		id = j.id + id[36:] // another caller's job holds the key
	}
	begun := func(a *attempt) bool {
		if r != nil && r.Code == h.OK && c.Op == "BeginAttempt" {
			return r.Job == j.id && own(a) // it returns an attempt, and no job
		}
		if a.short && a.state == started {
			return code(h.OK, h.InDoubt) && own(a)
		}
		return code(h.OK) && own(a)
	}
	if a := j.find(id); a != nil {
		switch a.state {
		case started:
			return begun(a), j
		case unknown:
			return code(h.InDoubt) && own(a), j
		}
		return code(h.Ended) && own(a), j
	}
	switch blocker := j.open(); {
	case j.id == "":
		return r == nil || r.Code == h.NotFound, j
	case j.state == canceled:
		return code(h.Canceled), j
	case j.state == completed:
		return code(h.Complete), j
	case blocker != nil:
		return code(h.Open) && own(blocker), j
	case j.n == MaxAttempts:
		return code(h.TooMany), j
	}
	j.attempts[j.n] = attempt{id, started, c.Short}
	j.n++
	return begun(&j.attempts[j.n-1]), j
}

func complete(j job, id string, c h.Call, r *h.Reply) (bool, job) {
	code := func(want string) bool { return r == nil || r.Code == want && j.shows(r) }
	a := j.find(id)
	switch {
	case j.winner == id && j.digest == c.Digest:
		return code(h.OK), j
	case j.winner == id:
		return code(h.Mismatch), j
	case j.state == open && a.live() && r != nil && r.Code == h.Refused:
		return true, j // the host's own rows could not be written, so nothing was
	case j.state == open && a.live():
		j.state, j.winner, j.digest, a.state = completed, id, c.Digest, succeeded
		return r == nil || r.Code == h.OK && j.shows(r), j
	case a.live():
		a.state = late
	}
	if c.Op == "Complete" {
		return code(h.Late), j
	}
	return code(map[string]string{completed: h.Complete, canceled: h.Canceled, open: h.Ended}[j.state]), j
}

func settle(j job, id, to string, r *h.Reply) (bool, job) {
	a := j.find(id)
	if !a.live() && a.state != to {
		return r == nil || r.Code == h.Ended && j.shows(r) && r.Attempt == id && r.AState == a.state, j
	}
	if a.live() && (to != unknown || a.state != detached) {
		a.state = to // a detached one stays so when it is in doubt
	}
	return r == nil || r.Code == h.OK && j.shownLater(r), j
}

// list compares all attempts, as the rows have them.
func list(j job, r *h.Reply) bool {
	if len(r.Texts) != j.n {
		return false
	}
	for _, text := range r.Texts {
		id, state, _ := strings.Cut(text, " ")
		if a := j.find(id); a == nil || !a.told(state) {
			return false
		}
	}
	return true
}

// model is the specification as Porcupine takes it.
var model = porcupine.Model{
	Init: func() any { return job{} },
	Step: func(state, input, output any) (bool, any) {
		return step(state.(job), input.(h.Call), output.(*h.Reply))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// operations turns a history into Porcupine's. An operation whose fate nobody
// knows may take effect at any later time, also after its process is dead. All
// repeats of one that are of unknown fate count as one: each operation changes
// something at most once, however often it is sent.
func operations(ops []h.Operation) []porcupine.Operation {
	var out []porcupine.Operation
	lost := map[h.Call]int{}
	for _, op := range ops {
		o := porcupine.Operation{Input: op.Call, Call: op.At, Output: op.Reply, Return: math.MaxInt64}
		if op.Reply != nil && op.Reply.Code != h.Unknown {
			o.Return = op.Reply.At
			moved := op.Op == "Start" && op.Reply.Code == h.OK && op.Reply.State != open
			if moved || slices.Contains([]string{h.Created, h.Ended, h.InDoubt, h.Late, h.Canceled, h.Complete}, op.Reply.Code) {
				// Its first sending may have taken effect, and its second, by the driver or
				// by the library, have seen what others did to that.
				out = append(out, porcupine.Operation{Input: op.Call, Output: (*h.Reply)(nil), Call: o.Call, Return: o.Return})
			}
			out = append(out, o)
			continue
		}
		o.Output = (*h.Reply)(nil)
		same := op.Call
		same.ID, same.At = "", 0
		if i, ok := lost[same]; ok {
			out[i].Call = min(out[i].Call, op.At)
			continue
		}
		lost[same] = len(out)
		out = append(out, o)
	}
	return out
}
