package checker

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	h "github.com/onejob-go/onejob/faults/history"
)

// Run is what a run left behind.
type Run struct {
	Store     string
	DB        *sql.DB // no faults any more
	Histories []string
	Texts     []string // files that must hold no secret
	Hook      bool     // the table effects has a row for each completed job
	Skewed    bool     // the clock that counts was wrong: deadlines came and went
	More      []h.Operation
	Schedule  []Event // what was done to the processes, and when
}

// Event is something that was done to a process or a connection.
type Event struct {
	At   int64
	What string
}

// Lost returns the operations of unknown fate, one for each that was repeated.
func Lost(histories []string) ([]h.Call, error) {
	var lost []h.Call
	seen := map[h.Call]bool{}
	for _, path := range histories {
		ops, err := h.Read(path)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			same := op.Call
			same.ID, same.At = "", 0
			if (op.Reply == nil || op.Reply.Code == h.Unknown) && !seen[same] {
				seen[same] = true
				lost = append(lost, op.Call)
			}
		}
	}
	return lost, nil
}

// Verdict is what was found.
type Verdict struct {
	Operations int // heard or not
	Open       int // whose fate nobody knows
	Canceled   int // whose context ended in the middle
	Keys       int
	Violations []string
	Undecided  int // jobs whose history was too long to decide
	run        Run
}

// Check reads everything and checks it.
func Check(ctx context.Context, run Run) (Verdict, error) {
	v := Verdict{run: run}
	byKey := map[string][]h.Operation{}
	for _, path := range run.Histories {
		ops, err := h.Read(path)
		if err != nil {
			return v, err
		}
		v.Operations += len(ops)
		for _, op := range ops {
			byKey[op.Key] = append(byKey[op.Key], op)
			if op.Reply == nil || op.Reply.Code == h.Unknown {
				v.Open++
			}
			if op.Reply != nil && strings.HasPrefix(op.Reply.Error, "the context ended") {
				v.Canceled++
			}
		}
	}
	for _, op := range run.More {
		byKey[op.Key] = append(byKey[op.Key], op)
	}
	v.Keys = len(byKey)
	rows, err := read(run.DB, run.Store)
	if err != nil {
		return v, err
	}
	for key := range rows {
		if byKey[key] == nil {
			v.violate("a job that nobody asked for", key, nil)
		}
	}
	v.judge(byKey, rows)
	found, err := Secrets(ctx, run.DB, Tables(run.Store))
	if err != nil {
		return v, err
	}
	for _, f := range found {
		v.violate("I9: a secret out of its place: "+f, "", nil)
	}
	if err := v.texts(run.Texts); err != nil {
		return v, err
	}
	if run.Hook {
		err = v.effects(run.DB, rows)
	}
	return v, err
}

// judge compares what callers were told with the rows, by key.
func (v *Verdict) judge(byKey map[string][]h.Operation, rows map[string]*row) {
	v.facts(byKey, rows)
	v.linearizable(byKey, rows)
}

// violate notes a violation with the history of its job.
func (v *Verdict) violate(what, key string, ops []h.Operation) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", what, key)
	for _, op := range ops {
		call, _ := json.Marshal(op.Call)
		reply, _ := json.Marshal(op.Reply)
		fmt.Fprintf(&b, "\n  %s → %s", call, reply)
	}
	if len(ops) > 0 {
		const around = int64(2 * time.Second)
		b.WriteString("\n  what was done meanwhile:")
		for _, e := range v.run.Schedule {
			if e.At > ops[0].At-around && e.At < ops[len(ops)-1].At+around {
				fmt.Fprintf(&b, "\n  %d %s", e.At, e.What)
			}
		}
	}
	v.Violations = append(v.Violations, b.String())
}

// facts checks what needs no order: whoever is told of a winner is told of the
// same one, for ever, and all are told of one job.
func (v *Verdict) facts(byKey map[string][]h.Operation, rows map[string]*row) {
	for key, ops := range byKey {
		r := rows[key]
		sawUnknown := map[string]int64{} // attempt → when it was first told to be unknown
		short := map[string]bool{}
		for _, op := range ops {
			if op.Short && v.run.Skewed {
				short[own(op.Attempt)] = true
			}
			if p := op.Reply; p != nil && p.AState == unknown {
				if at, seen := sawUnknown[p.Attempt]; !seen || p.At < at {
					sawUnknown[p.Attempt] = p.At
				}
			}
		}
		for _, op := range ops {
			p := op.Reply
			switch {
			case p != nil && p.Code == h.Wrong:
				v.violate("an error that nobody must see: "+p.Error, key, ops)
			case p != nil && p.Code == h.Refused && !v.run.Hook:
				v.violate("a refusal of OnComplete, where there is none", key, ops)
			case p == nil || p.Job == "":
			case r == nil:
				v.violate("I10: acknowledged and gone", key, ops)
			case p.Job != r.id:
				v.violate("I7: two jobs of one key", key, ops)
			case p.Winner != "" && (p.Winner != r.winner || p.Digest != r.digest):
				v.violate("I1, I2, I5: another winner or result was told", key, ops)
			case p.AState == started && !short[own(p.Attempt)] && sawUnknown[p.Attempt] != 0 && sawUnknown[p.Attempt] < op.At:
				v.violate("I4: unknown was started again", key, ops)
			}
		}
	}
}

// own is an attempt's own part of its ID: a Start that finds another caller's job
// goes on under that one's.
func own(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// linearizable asks Porcupine about each job (I3, I5, I6, I7, I10, I11, I13, I15).
// A machine that is busy may need longer than the first limit: what is undecided
// then has another, by itself.
func (v *Verdict) linearizable(byKey map[string][]h.Operation, rows map[string]*row) {
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, 2)
	undecided := map[string][]h.Operation{}
	for key, ops := range byKey {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			ops = append(slices.Clone(ops), final(key, rows[key], h.Now())...)
			result := porcupine.CheckOperationsTimeout(model, operations(ops), 20*time.Second)
			mu.Lock()
			defer mu.Unlock()
			switch result {
			case porcupine.Illegal:
				v.unexplained(key, ops)
			case porcupine.Unknown:
				undecided[key] = ops
			}
		})
	}
	all.Wait()
	for key, ops := range undecided {
		switch porcupine.CheckOperationsTimeout(model, operations(ops), 3*time.Minute) {
		case porcupine.Illegal:
			v.unexplained(key, ops)
		case porcupine.Unknown:
			v.Undecided++
		}
	}
}

func (v *Verdict) unexplained(key string, ops []h.Operation) {
	slices.SortFunc(ops, func(a, b h.Operation) int { return cmp.Compare(a.At, b.At) })
	v.violate("I15: no order of these explains the replies: "+explain(operations(ops))+"\nall of them", key, ops)
}

// texts looks for secrets in log lines and errors.
func (v *Verdict) texts(paths []string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			for canary := range canaries {
				if strings.Contains(line, canary) {
					v.violate("I9: a secret in a log line or an error", line, nil)
				}
			}
		}
	}
	return nil
}

// effects compares the host's rows with the winners.
func (v *Verdict) effects(db *sql.DB, rows map[string]*row) error {
	found, err := db.Query("SELECT job, attempt FROM effects")
	if err != nil {
		return err
	}
	defer found.Close()
	winners, seen := map[string]string{}, map[string]int{}
	for _, r := range rows {
		if r.winner != "" {
			winners[r.id] = r.winner
		}
	}
	for found.Next() {
		var job, attempt string
		if err := found.Scan(&job, &attempt); err != nil {
			return err
		}
		seen[job]++
		if winners[job] != attempt {
			v.violate("I5: the host's row is of no winner", job+" "+attempt, nil)
		}
	}
	for job := range winners {
		if seen[job] != 1 {
			v.violate(fmt.Sprintf("I5: %d rows of the host for a completed job", seen[job]), job, nil)
		}
	}
	return found.Err()
}
