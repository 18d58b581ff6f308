package grid

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what came out into docs/fault-grid.md")

const page = "../../docs/fault-grid.md"

func (g *grid) begin() string { return "<!-- " + g.title + " -->\n" }
func (g *grid) end() string   { return "<!-- end of " + g.title + " -->\n" }

// compare holds what came out against the page. Where the fault races with the
// database, which outcome comes is a matter of speed: there the page has all that
// was seen when it was written.
func (g *grid) compare() {
	text, err := os.ReadFile(page)
	require.NoError(g.t, err)
	head, rest, ok := strings.Cut(string(text), g.begin())
	require.True(g.t, ok, "the page has no place for %s", g.title)
	old, tail, ok := strings.Cut(rest, g.end())
	require.True(g.t, ok, "the page has no end for %s", g.title)
	known := parse(old)
	now := g.markdown(func(op *operation, f *fault) []string {
		c, was := g.cells[op][f], known[op.name+f.column()]
		if c == nil {
			return was // it was not asked for
		}
		seen := c.strings()
		if c.fault.races {
			if !*update && !subset(seen, was) {
				g.t.Logf("%s: %v is new to the page", cellName(op, f), seen)
				return was
			}
			seen = append(seen, was...)
		}
		slices.Sort(seen)
		return slices.Compact(seen)
	})
	if *update {
		require.NoError(g.t, os.WriteFile(page, []byte(head+g.begin()+now+g.end()+tail), 0o644))
		return
	}
	require.Equal(g.t, old, now,
		"docs/fault-grid.md does not say what came out: if that is right, run go test ./grid -update")
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func (c *cell) strings() []string {
	var all []string
	for _, o := range c.sorted() {
		all = append(all, string(o))
	}
	return all
}

// markdown is one table for each group of faults, and the reasons of the cells
// that cannot exist.
func (g *grid) markdown(outcomes func(*operation, *fault) []string) string {
	var b strings.Builder
	var reasons []string
	for _, group := range g.groups() {
		b.WriteString("\n| operation |")
		for _, f := range group {
			b.WriteString(" " + f.heading() + " |")
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(group)) + "\n")
		for _, op := range g.ops {
			b.WriteString("| " + op.name + " |")
			for _, f := range group {
				text := ""
				if why := reason(op, f); why != "" {
					i := slices.Index(reasons, why)
					if i < 0 {
						i = len(reasons)
						reasons = append(reasons, why)
					}
					text = fmt.Sprintf("n/a %d", i+1)
				} else {
					text = strings.Join(outcomes(op, f), " / ")
				}
				b.WriteString(" " + text + " |")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nNot there, because:\n\n")
	for i, why := range reasons {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, why)
	}
	b.WriteString("\n")
	return b.String()
}

// heading marks the columns in which the fault races.
func (f *fault) heading() string {
	if f.races {
		return f.column() + " ~"
	}
	return f.column()
}

// groups are the faults that share a table.
func (g *grid) groups() (all [][]*fault) {
	for i, f := range g.faults {
		if i == 0 || g.faults[i-1].group != f.group {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], f)
	}
	return all
}

// parse returns the outcomes on the page, by operation and fault.
func parse(tables string) map[string][]string {
	known := map[string][]string{}
	var columns []string
	for _, line := range strings.Split(tables, "\n") {
		parts := strings.Split(strings.Trim(line, "|"), "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		switch {
		case len(parts) < 2 || strings.HasPrefix(parts[0], "---"):
		case parts[0] == "operation":
			columns = parts[1:]
		default:
			for i, text := range parts[1:] {
				known[parts[0]+strings.TrimSuffix(columns[i], " ~")] = strings.Split(text, " / ")
			}
		}
	}
	return known
}
