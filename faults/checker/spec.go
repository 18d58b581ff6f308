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

// step applies a call to a job and reports whether the reply fits. A call
// without a reply takes what effect it can.
func step(j job, c h.Call, r *h.Reply) (bool, job) {
	heard := func(ok bool) bool { return r == nil || ok && (r.Job == "" || r.Job == j.id) }
	code := func(codes ...string) bool { return r == nil || slices.Contains(codes, r.Code) && heard(true) }
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
			return begin(j, c, r, code)
		case r != nil && made && r.Code == h.OK:
			return false, j // it was made by this call, which must be told so
		case r != nil && !made && r.Code == h.Created:
			return j.id == c.Mint && heard(true), j // its driver sent it twice
		}
		return code(h.OK, h.Created), j
	case "BeginAttempt":
		return begin(j, c, r, code)
	case "Get":
		return get(j, r), j
	case "List":
		return list(j, r), j
	case "CancelJob":
		switch j.state {
		case "":
			return code(h.NotFound), j
		case completed:
			return code(h.Complete) && (r == nil || r.Winner == j.winner), j
		}
		j.state = canceled
		return code(h.OK), j
	}
	a := j.find(c.Attempt)
	if a == nil {
		return code(h.NotFound, h.Ended, h.Late), j
	}
	switch c.Op {
	case "Complete", "Confirm":
		return complete(j, a.id, c, r, code)
	case "Fail":
		if c.Proof {
			return settle(j, a.id, failed, r, code)
		}
		return settle(j, a.id, unknown, r, code)
	case "MarkUnknown":
		return settle(j, a.id, unknown, r, code)
	case "Refute":
		return settle(j, a.id, failed, r, code)
	case "CancelAttempt":
		return settle(j, a.id, canceled, r, code)
	case "DetachAttempt":
		return settle(j, a.id, detached, r, code)
	}
	panic("checker: no such operation: " + c.Op)
}

func begin(j job, c h.Call, r *h.Reply, code func(...string) bool) (bool, job) {
	if j.id == "" {
		return code(h.NotFound), j
	}
	own := func(a *attempt) bool { return r == nil || r.Attempt == a.id && a.told(r.AState) }
	id := c.Attempt
	if c.Op == "Start" && len(id) > 36 && id[:36] != j.id {
		id = j.id + id[36:] // another caller's job holds the key
	}
	if a := j.find(id); a != nil {
		switch {
		case a.state == started && a.short:
			return code(h.OK, h.InDoubt) && own(a), j
		case a.state == started:
			return code(h.OK) && own(a), j
		case a.state == unknown:
			return code(h.InDoubt) && own(a), j
		}
		return code(h.Ended) && own(a), j
	}
	switch blocker := j.open(); {
	case j.state == canceled:
		return code(h.Canceled), j
	case j.state == completed:
		return code(h.Complete) && (r == nil || r.Winner == j.winner), j
	case blocker != nil:
		return code(h.Open) && own(blocker), j
	case j.n == MaxAttempts:
		return code(h.TooMany), j
	}
	j.attempts[j.n] = attempt{id, started, c.Short}
	j.n++
	return code(h.OK) && own(&j.attempts[j.n-1]), j
}

func complete(j job, id string, c h.Call, r *h.Reply, code func(...string) bool) (bool, job) {
	a := j.find(id)
	won := func() bool {
		return code(h.OK) && (r == nil || r.Winner == j.winner && r.Digest == j.digest)
	}
	switch {
	case j.winner == id && j.digest == c.Digest:
		return won(), j
	case j.winner == id:
		return code(h.Mismatch), j
	case j.state == open && a.live():
		j.state, j.winner, j.digest, a.state = completed, id, c.Digest, succeeded
		return won(), j
	case a.live():
		a.state = late
	}
	return code(h.Late, h.Ended, h.Complete, h.Canceled), j
}

func settle(j job, id, to string, r *h.Reply, code func(...string) bool) (bool, job) {
	a := j.find(id)
	switch {
	case !a.live():
		if a.state == to {
			return code(h.OK), j
		}
		return code(h.Ended, h.Complete) && (r == nil || r.AState == "" || r.AState == a.state), j
	case to == unknown && a.state == detached: // it stays so
	default:
		a.state = to
	}
	return code(h.OK), j
}

func get(j job, r *h.Reply) bool {
	if r == nil {
		return true
	}
	if j.id == "" {
		return r.Code == h.NotFound
	}
	version := int64(1)
	if j.state != open {
		version = 2
	}
	if r.Code != h.OK || r.Job != j.id || r.State != j.state || r.Version != version {
		return false
	}
	if j.state == completed {
		return r.Winner == j.winner && r.Digest == j.digest
	}
	blocker := j.open()
	if blocker == nil {
		return r.Attempt == ""
	}
	return r.Attempt == blocker.id && blocker.told(r.AState)
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
			if op.Reply.Code == h.Ended || op.Reply.Code == h.InDoubt {
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
