package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows under a head, with lines below a row for what is too long for a
// column, such as an ID that is to be copied. text/tabwriter would begin a new
// table after each such line.
type table struct {
	head []string
	rows []tableRow
}

type tableRow struct {
	cells []string
	notes []string
}

func (t *table) add(cells []string, notes ...string) {
	t.rows = append(t.rows, tableRow{cells, notes})
}

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.head))
	for _, cells := range append([][]string{t.head}, t.cells()...) {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	t.line(w, widths, t.head)
	for _, r := range t.rows {
		t.line(w, widths, r.cells)
		for _, n := range r.notes {
			fmt.Fprintf(w, "    %s\n", n)
		}
	}
}

func (t *table) cells() [][]string {
	var all [][]string
	for _, r := range t.rows {
		all = append(all, r.cells)
	}
	return all
}

func (t *table) line(w io.Writer, widths []int, cells []string) {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

// facts are lines of a name and a value.
func facts(w io.Writer, pairs ...[2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(w, "  %-*s  %s\n", width, p[0], p[1])
		}
	}
}

// count is a number with its noun.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
