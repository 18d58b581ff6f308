package checker

import (
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
}

// Verdict is what was found.
type Verdict struct {
	Operations int // heard or not
	Open       int // whose fate nobody knows
	Canceled   int // whose context ended in the middle
	Keys       int
	Violations []string
	Undecided  int // jobs whose history was too long to decide
}

// Check reads everything and checks it.
func Check(ctx context.Context, run Run) (Verdict, error) {
	var v Verdict
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
	v.Keys = len(byKey)
	rows, err := read(run.DB, run.Store)
	if err != nil {
		return v, err
	}
	for key := range rows {
		if byKey[key] == nil {
			v.violate("I12: a job that nobody asked for", key, nil)
		}
	}
	judged := judge(byKey, rows)
	v.Violations, v.Undecided = append(v.Violations, judged.Violations...), judged.Undecided
	found, err := scan(ctx, run.DB, run.Store)
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
func judge(byKey map[string][]h.Operation, rows map[string]*row) Verdict {
	var v Verdict
	v.facts(byKey, rows)
	v.linearizable(byKey, rows)
	return v
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
			if op.Short {
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
func (v *Verdict) linearizable(byKey map[string][]h.Operation, rows map[string]*row) {
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, 2)
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
				slices.SortFunc(ops, func(a, b h.Operation) int { return int(a.At - b.At) })
				v.violate("I15: no order of these explains the replies: "+explain(operations(ops))+"\nall of them", key, ops)
			case porcupine.Unknown:
				v.Undecided++
			}
		})
	}
	all.Wait()
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
	winners := map[string]string{}
	for _, r := range rows {
		if r.winner != "" {
			winners[r.id] = r.winner
		}
	}
	n := 0
	for found.Next() {
		var job, attempt string
		if err := found.Scan(&job, &attempt); err != nil {
			return err
		}
		n++
		if winners[job] != attempt {
			v.violate("I5: the host's row is of no winner", job+" "+attempt, nil)
		}
	}
	if n != len(winners) {
		v.violate(fmt.Sprintf("I5: %d rows of the host for %d completed jobs", n, len(winners)), "", nil)
	}
	return found.Err()
}
