package grid

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/figures"
)

var only = flag.String("cell", "", "run the cells whose name contains this, such as 'Create × F3 FIN'")

// cell is an operation under a fault, and what came of it.
type cell struct {
	op       *operation
	fault    *fault
	runs     int
	outcomes map[outcome]int
	took     time.Duration
}

// grid is one of the two tables.
type grid struct {
	t      *testing.T
	title  string
	seed   uint64
	ops    []*operation
	faults []*fault
	// turn waits for the operation's turn, and place returns where it runs.
	turn  func(op *operation) (done func())
	place func(op *operation) (p *place, clean func(), err error)
	quiet func(context.Context, *trial) error

	mu                              sync.Mutex
	cells                           map[*operation]map[*fault]*cell
	operations, cuts, kills, halted int
	failures                        int
}

func newGrid(t *testing.T, title string, faults []*fault) *grid {
	g := &grid{t: t, title: title, seed: figures.Seed(t), ops: operations(), faults: faults, cells: map[*operation]map[*fault]*cell{}}
	for _, op := range g.ops {
		g.cells[op] = map[*fault]*cell{}
		for _, f := range faults {
			if reason(op, f) == "" && strings.Contains(cellName(op, f), *only) {
				g.cells[op][f] = &cell{op: op, fault: f, outcomes: map[outcome]int{}}
			}
		}
	}
	return g
}

// reason is why the cell cannot exist, or "".
func reason(op *operation, f *fault) string {
	if f.missing == nil {
		return ""
	}
	return f.missing(op)
}

// run runs every cell as often as it must. Runs that wait for silence go side
// by side; of the others only a few, or the machine has no time left.
func (g *grid) run() {
	gates := map[string]chan struct{}{
		"slow": make(chan struct{}, 32), "child": make(chan struct{}, 3), "": make(chan struct{}, 6),
	}
	var all sync.WaitGroup
	n := 0
	for i := range figures.N(3, 50) {
		for _, op := range g.ops {
			for _, f := range g.faults {
				c := g.cells[op][f]
				if c == nil {
					continue
				}
				gate := gates[""]
				if f.slow {
					gate = gates["slow"]
				} else if f.child {
					gate = gates["child"]
				}
				n++
				n := n
				all.Go(func() { g.once(c, fmt.Sprintf("g%d-%d", n, i), uint64(n), gate) })
			}
		}
	}
	all.Wait()
}

// once makes one run of a cell.
func (g *grid) once(c *cell, name string, n uint64, gate chan struct{}) {
	defer g.turn(c.op)()
	gate <- struct{}{}
	defer func() { <-gate }()
	g.mu.Lock()
	enough := g.failures >= 20 // the rest would only repeat them
	g.mu.Unlock()
	if enough {
		return
	}
	p, clean, err := g.place(c.op)
	tr := &trial{place: p, op: c.op, fault: c.fault, name: name, seed: g.seed, rand: rand.New(rand.NewPCG(g.seed, n))}
	var o outcome
	begun := time.Now()
	if err == nil {
		defer clean()
		o, err = tr.run(context.Background(), g.quiet)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.took += time.Since(begun)
	if err != nil {
		g.failures++
		tr.report(g.t, err)
		return
	}
	c.runs++
	c.outcomes[o]++
	g.operations += tr.done
	count(&g.cuts, c.fault.cuts)
	count(&g.kills, c.fault.kills)
	count(&g.halted, c.fault.stops)
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// finish counts, prints the table, and compares it with the page.
func (g *grid) finish() {
	least := -1
	for _, row := range g.cells {
		for _, c := range row {
			if least < 0 || c.runs < least {
				least = c.runs
			}
		}
	}
	if *only == "" {
		figures.Add(g.t, figures.Operations, g.operations)
		figures.Add(g.t, figures.CellsLeast, least)
		figures.Add(g.t, figures.Cuts, g.cuts)
		figures.Add(g.t, figures.ClientKills, g.kills)
		figures.Add(g.t, figures.Stops, g.halted)
	}
	g.t.Log(g.counts())
	require.Zero(g.t, g.failures, "cells failed: the page is not compared")
	g.compare()
}

// counts tells how often each outcome came, for those that had more than one.
func (g *grid) counts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d operations\n", g.title, g.operations)
	for _, op := range g.ops {
		for _, f := range g.faults {
			c := g.cells[op][f]
			if c == nil || c.runs == 0 {
				continue
			}
			fmt.Fprintf(&b, "  %-55s %-28s", op.name, f.column())
			for _, o := range c.sorted() {
				fmt.Fprintf(&b, " %s ×%d", o, c.outcomes[o])
			}
			fmt.Fprintf(&b, " %v\n", (c.took / time.Duration(c.runs)).Round(time.Millisecond))
		}
	}
	return b.String()
}

func (c *cell) sorted() []outcome {
	var all []outcome
	for o := range c.outcomes {
		all = append(all, o)
	}
	slices.Sort(all)
	return all
}
