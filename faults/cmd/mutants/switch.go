package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onejob-go/onejob/faults/mutants"
)

// To compile and link the tests for each mutant takes longer than all else. So
// one copy of the tree holds, behind a switch, every mutant that changes
// nothing but statements of SQL and the bodies of functions: a body is put
// before the one that it replaces, and a statement is changed where it is
// rendered. The environment names the mutant. With none named this binary is
// the clean tree.
const (
	switchID   = "ONEJOB_MUTANT"     // whose bodies run
	switchFile = "ONEJOB_MUTANT_SQL" // a file of statements, old and new in turn
)

const switchSource = `package onejob

import (
	"os"
	"strings"
)

var mutantID = os.Getenv("ONEJOB_MUTANT")

var mutantSQL = func() []string {
	text, err := os.ReadFile(os.Getenv("ONEJOB_MUTANT_SQL"))
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\x00")
}()

func mutated(constant string) string {
	for i := 0; i+1 < len(mutantSQL); i += 2 {
		constant = strings.ReplaceAll(constant, mutantSQL[i], mutantSQL[i+1])
	}
	return constant
}
`

const (
	renderOld = "return strings.NewReplacer(pairs...).Replace(constant)"
	renderNew = "return strings.NewReplacer(pairs...).Replace(mutated(constant))"
)

// weave puts the switch into a copy, with the bodies of all mutants that it can
// take. It uses t to plant them in, and returns what the switch is to do for
// each.
func weave(t, woven *tree, picked []mutants.Mutant, check func(*tree) error) (map[string]change, error) {
	changes := map[string]change{}
	for _, m := range picked {
		err := t.plant(m.Edits())
		if err == nil && m.Equivalent == "" && check(t) == nil {
			if c, ok := t.changed(); ok && len(m.Plants) > 0 {
				changes[m.ID] = c
			}
		}
		if err := t.restore(); err != nil {
			return nil, err
		}
	}
	if err := woven.insert(changes); err != nil {
		return nil, err
	}
	path := filepath.Join(woven.dir, "statements.go")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.Count(text, []byte(renderOld)) != 1 {
		return nil, errors.New("statements.go does not render as it did: there is no place for the switch")
	}
	text = bytes.Replace(text, []byte(renderOld), []byte(renderNew), 1)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	return changes, os.WriteFile(filepath.Join(woven.dir, "mutant_switch.go"), []byte(switchSource), 0o644)
}

// insert puts bodies before those that they replace.
func (t *tree) insert(changes map[string]change) error {
	before := map[string]map[int]string{} // file → declaration → what to insert
	for id, c := range changes {
		for file, bodies := range c.bodies {
			if before[file] == nil {
				before[file] = map[int]string{}
			}
			for i, inner := range bodies {
				before[file][i] += fmt.Sprintf("\nif mutantID == %q {%s\n%%return%%}\n", id, inner)
			}
		}
	}
	for file, inserts := range before {
		path := filepath.Join(t.dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		list, err := declarations(text)
		if err != nil {
			return err
		}
		for i, d := range slices.Backward(list) {
			if inserts[i] == "" {
				continue
			}
			end := "return\n"
			if d.results {
				end = ""
			}
			text = slices.Insert(text, d.brace, []byte(strings.ReplaceAll(inserts[i], "%return%", end))...)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
