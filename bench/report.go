package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/onejob-go/onejob/bench/duel"
)

// report collects what was measured.
type report struct {
	text   bytes.Buffer // the tables
	goals  []string     // a line of the goals' table each
	losses []string
	stored map[string]stored
}

// stored is what bench-check compares with.
type stored struct {
	Ratios map[string]float64 // a side against another, the median
	Allocs map[string]float64 // of a side of the library's, an operation
}

func newReport() *report { return &report{stored: map[string]stored{}} }

func byName(results []*duel.Result) map[string]*duel.Result {
	by := map[string]*duel.Result{}
	for _, r := range results {
		by[r.Name] = r
	}
	return by
}

// add writes a match's table, and prints it.
func (r *report) add(m match, title string, runs ...[]*duel.Result) {
	results := runs[len(runs)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| side | per second | p50 | p99 | allocations | heap | WAL |\n|---|---|---|---|---|---|---|\n", title)
	for _, res := range results {
		wal := "–"
		if res.HasMeter {
			wal = fmt.Sprintf("%.0f B", res.Metered)
		}
		fmt.Fprintf(&b, "| %s | %.0f | %v | %v | %.0f | %.0f B | %s |\n", res.Name, res.PerSecond.Median,
			short(res.P50), short(res.P99), res.Allocs, res.Bytes, wal)
	}
	by := byName(results)
	s := stored{Ratios: map[string]float64{}, Allocs: map[string]float64{}}
	for i, g := range m.goals {
		q := duel.Ratio(by[g.a], by[g.b])
		name := g.a + " against " + g.b
		s.Ratios[name] = q.Median
		s.Allocs[g.a] = by[g.a].Allocs
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s: **%.2f** (%.2f–%.2f)", name, q.Median, q.Low, q.High)
		if g.least == 0 && g.tell {
			r.goals = append(r.goals, fmt.Sprintf("| %s: %s | – | %.2f (%.2f–%.2f) | |", title, name, q.Median, q.Low, q.High))
		}
		if g.least > 0 {
			verdict := g.verdict(runs)
			fmt.Fprintf(&b, ", goal ≥ %.3g: %s", g.least, verdict)
			r.goals = append(r.goals, fmt.Sprintf("| %s: %s | ≥ %.3g | %s | %s |", title, name, g.least, g.measured(runs), verdict))
		}
		if g.p99 > 0 {
			p := float64(by[g.a].P99) / float64(by[g.b].P99)
			fmt.Fprintf(&b, "; p99 %.3f of it, goal ≤ %.3f", p, g.p99)
			verdict := verdict(slices.ContainsFunc(runs, func(run []*duel.Result) bool { return !g.tooLate(byName(run)) }))
			r.goals = append(r.goals, fmt.Sprintf("| %s: p99 of %s | ≤ %.3f | %.3f | %s |", title, name, g.p99, p, verdict))
		}
		b.WriteByte('\n')
	}
	r.stored[title] = s
	fmt.Print(b.String())
	r.text.WriteString(b.String())
}

func short(d time.Duration) time.Duration {
	if d > 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// measured are the ratios of all runs.
func (g goal) measured(runs [][]*duel.Result) string {
	var list []string
	for _, run := range runs {
		q := duel.Ratio(byName(run)[g.a], byName(run)[g.b])
		list = append(list, q.String())
	}
	return strings.Join(list, ", again ")
}

// verdict is "missed" only if the better quartile misses the goal in each run.
func (g goal) verdict(runs [][]*duel.Result) string {
	within := false
	for _, run := range runs {
		by := byName(run)
		if duel.Ratio(by[g.a], by[g.b]).Median >= g.least {
			return verdict(true)
		}
		within = within || !g.tooSlow(by)
	}
	if within {
		return "within the noise"
	}
	return verdict(false)
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// tooSlow reports whether the better quartile, too, misses the goal.
func (g goal) tooSlow(by map[string]*duel.Result) bool {
	return g.least > 0 && duel.Ratio(by[g.a], by[g.b]).High < g.least
}

func (g goal) tooLate(by map[string]*duel.Result) bool {
	return g.p99 > 0 && float64(by[g.a].P99) > g.p99*float64(by[g.b].P99)
}

// met reports whether a match's goals all are.
func (m match) met(results []*duel.Result) bool {
	by := byName(results)
	return !slices.ContainsFunc(m.goals, func(g goal) bool { return g.tooSlow(by) || g.tooLate(by) })
}

// losses tells what is more than a tenth worse than it was.
func losses(m match, results []*duel.Result, was stored) (list []string) {
	by := byName(results)
	for _, g := range m.goals {
		name := g.a + " against " + g.b
		q := duel.Ratio(by[g.a], by[g.b])
		if old := was.Ratios[name]; q.High < 0.9*old {
			list = append(list, fmt.Sprintf("%s: %.2f (%.2f–%.2f), and was %.2f", name, q.Median, q.Low, q.High, old))
		}
		if old, ok := was.Allocs[g.a]; ok && by[g.a].Allocs > 1.1*old+1 {
			list = append(list, fmt.Sprintf("%s: %.0f allocations, and were %.0f", g.a, by[g.a].Allocs, old))
		}
	}
	return list
}

// lossesOf are those that repeat, and what was never stored.
func lossesOf(m match, runs [][]*duel.Result, old map[string]stored) (list []string) {
	was, ok := old[m.title()]
	if !ok {
		return []string{m.title() + ": nothing is stored of it: run with -store first"}
	}
	for _, g := range m.goals {
		one := match{goals: []goal{g}}
		lost := func(run []*duel.Result) bool { return len(losses(one, run, was)) > 0 }
		if len(runs) == 2 && lost(runs[0]) && lost(runs[1]) {
			for _, loss := range losses(one, runs[1], was) {
				list = append(list, m.title()+": "+loss)
			}
		}
		if _, ok := was.Ratios[g.a+" against "+g.b]; !ok {
			list = append(list, m.title()+": no ratio is stored of "+g.a+": run with -store first")
		}
	}
	return list
}

func load(file string) (map[string]stored, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	m := map[string]stored{}
	return m, json.Unmarshal(text, &m)
}

func (f *field) tellDisk(ctx context.Context, r *report, brief bool) error {
	d, err := f.disk(ctx, brief)
	if err != nil {
		return err
	}
	line := func(name string, got, most float64) {
		text := fmt.Sprintf("| disk per completed job, %s | ≤ %.0f B | %.0f B | %s |", name, most, got, verdict(got <= most))
		r.goals = append(r.goals, text)
		fmt.Println(text)
	}
	line("PostgreSQL, completed while later ones run", d.postgres, 1500)
	line("PostgreSQL, each completed at once, one VACUUM at the end", d.atOnce, 1500)
	line("SQLite", d.sqlite, 1100)
	for _, peer := range []struct {
		name  string
		bytes float64
	}{{"River", d.river}, {"DBOS", d.dbos}} {
		text := fmt.Sprintf("| disk per completed job, %s | – | %.0f B | |", peer.name, peer.bytes)
		r.goals = append(r.goals, text)
		fmt.Println(text)
	}
	return nil
}

// finish writes what was asked for, and fails on a loss.
func (r *report) finish(o options) error {
	now := measured{goals: r.goals, sections: parseMeasured(allHead + r.text.String()).sections}
	fmt.Print("\n## Goals\n\n", goalsHead, strings.Join(r.goals, "\n"), "\n")
	if o.store != "" {
		if err := writeStored(o.store, r.stored); err != nil {
			return err
		}
	}
	if o.doc != "" {
		if err := writePage(o.doc, now); err != nil {
			return err
		}
	}
	if len(r.losses) > 0 {
		return errors.New("more than a tenth was lost, twice:\n  " + strings.Join(r.losses, "\n  "))
	}
	return nil
}
