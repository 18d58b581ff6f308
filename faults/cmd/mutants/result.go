package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/onejob-go/onejob/faults/mutants"
)

type outcome string

const (
	caught     outcome = "caught"
	missed     outcome = "MISSED"
	equivalent outcome = "equivalent"
	later      outcome = "later"
	compiles   outcome = "compiles"
	rotten     outcome = "does not apply"
	broken     outcome = "does not compile"
	unfit      outcome = "unfit suite" // it fails on the clean tree, or holds no test
)

// result is a row of the table.
type result struct {
	ID, What, Where string
	Outcome         outcome
	By              string // the test, or the reason
}

func (r result) print(took time.Duration) {
	fmt.Printf("%-6s %-10s %-14s %s\n       %s (%.0fs)\n", r.ID, r.Where, r.Outcome, r.What, r.By, took.Seconds())
}

func fill(results []result, o outcome, by string) {
	for i := range results {
		results[i].Outcome, results[i].By = o, by
	}
}

// merged puts the results into those of the file, which it rewrites, in the
// order of the list. Without a file they are all there is.
func merged(file string, found []result) ([]result, error) {
	if file == "" {
		return found, nil
	}
	var old []result
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	by := map[[2]string]result{}
	for _, r := range append(old, found...) {
		by[[2]string{r.ID, r.Where}] = r
	}
	var all []result
	eachRow(func(m mutants.Mutant, where string) {
		if r, ok := by[[2]string{m.ID, where}]; ok && r.What == m.What {
			all = append(all, r)
		}
	})
	text, err = json.MarshalIndent(all, "", "\t")
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(file, append(text, '\n'), 0o644)
}

// eachRow calls f for each row that the table must have.
func eachRow(f func(m mutants.Mutant, where string)) {
	for _, m := range mutants.All() {
		if len(m.Plants) == 0 {
			f(m, "")
		}
		for _, p := range m.Plants {
			f(m, p.Where)
		}
	}
}

const docHead = `# Mutants

Each row is a wrong version of the library, and the test that fails for it. A
test that no wrong code can break shows nothing, so this is how the tests
themselves are tested. M1 to M28 are the mistakes that the design names; those
with an X were added as a colleague would who wants to slip something through.

    make mutants                           # all of them
    cd faults
    go run ./cmd/mutants -run '^M14$'      # one
    go run ./cmd/mutants -check            # do all still apply and compile?
    go run ./cmd/mutants -doc ../docs/mutants.md

The program copies the tree, plants one mutant, requires that each text it
replaces stands exactly once and that the copy compiles, and runs the smallest
suite that must fail, which must have passed on the clean tree. Most mutants are
compiled into one test binary, behind a switch in the copy; a mutant that is
missed there, or that a switch does not reach, is compiled by itself. Where one
can be planted on both stores each is judged by itself. What the stores share is
tried on the store that is named. The entries are in
[faults/mutants](../faults/mutants). This page is written by the program.

*Equivalent* means that no test can tell the mutant from the library, and why.

| ID | done wrong | tried on | caught by |
|---|---|---|---|
`

// writeDoc writes the page, unless a row is missing.
func writeDoc(file string, all []result) error {
	want := 0
	eachRow(func(mutants.Mutant, string) { want++ })
	if len(all) != want {
		return fmt.Errorf("the page needs a result for each of %d rows, there are %d: run all, or keep -results", want, len(all))
	}
	var b bytes.Buffer
	b.WriteString(docHead)
	sums := map[outcome]int{}
	for _, r := range all {
		sums[r.Outcome]++
		by := strings.ReplaceAll(r.By, "|", `\|`)
		switch r.Outcome {
		case caught:
			by = "`" + strings.Replace(by, ", which", "`, which", 1)
			if strings.Count(by, "`") == 1 {
				by += "`"
			}
		default:
			by = "*" + string(r.Outcome) + "*: " + by
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, strings.ReplaceAll(r.What, "|", `\|`), r.Where, by)
	}
	fmt.Fprintf(&b, "\nRows: %d caught, %d missed, %d equivalent, %d for later.\n",
		sums[caught], sums[missed]+sums[rotten]+sums[broken]+sums[unfit], sums[equivalent], sums[later])
	return os.WriteFile(file, b.Bytes(), 0o644)
}
