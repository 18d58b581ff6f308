package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/onejob-go/onejob/faults/mutants"
)

type runner struct {
	settings
	root, dir string
	checker   *checker
	woven     *tree             // the copy with the switch
	binary    string            // its tests
	changes   map[string]change // what the switch is to do, by mutant
	unfit     map[string]error  // suites that are none on the clean tree

	mu sync.Mutex // guards the file of results
}

// all runs the mutants and prints each result as it comes.
func (r *runner) all(ctx context.Context, picked []mutants.Mutant) ([]result, error) {
	trees := make([]*tree, max(r.workers, 1))
	for i := range trees {
		var err error
		if trees[i], err = copyTree(r.root, filepath.Join(r.dir, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	var err error
	if r.checker, err = newChecker(ctx, trees[0].dir); err != nil {
		return nil, err
	}
	if !r.check {
		if err := r.prepare(ctx, trees[0], picked); err != nil {
			return nil, err
		}
	}
	queue := make(chan int)
	found := make([][]result, len(picked))
	errs := make([]error, len(trees))
	var wg sync.WaitGroup
	for i, t := range trees {
		wg.Go(func() {
			for n := range queue {
				if errs[i] == nil {
					found[n], errs[i] = r.one(ctx, t, picked[n])
				}
				if errs[i] == nil {
					errs[i] = r.keep(found[n])
				}
			}
		})
	}
	for n := range picked {
		queue <- n
	}
	close(queue)
	wg.Wait()
	var list []result
	for _, f := range found {
		list = append(list, f...)
	}
	return list, errors.Join(errs...)
}

// prepare makes the binary with the switch and runs all suites with it, clean.
func (r *runner) prepare(ctx context.Context, t *tree, picked []mutants.Mutant) (err error) {
	if r.woven, err = copyTree(r.root, filepath.Join(r.dir, "woven")); err != nil {
		return err
	}
	if r.changes, err = weave(t, r.woven, picked, r.checker.check); err != nil {
		return err
	}
	r.binary, r.unfit = filepath.Join(r.dir, "woven.test"), map[string]error{}
	if err := r.woven.build(ctx, r.binary); err != nil {
		return fmt.Errorf("the tree with the switch does not compile: %w", err)
	}
	fmt.Printf("%d of %d mutants are behind the switch\n", len(r.changes), len(picked))
	return r.proveClean(ctx, picked)
}

// keep adds to the results of earlier runs, so that a run that is stopped has
// not been for nothing.
func (r *runner) keep(found []result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := merged(r.results, found)
	return err
}

// one plants a mutant and tells what became of each of its plants. Those of two
// stores do not touch each other, so they are planted and compiled together;
// what the stores share is planted once.
func (r *runner) one(ctx context.Context, t *tree, m mutants.Mutant) ([]result, error) {
	began := time.Now()
	results := make([]result, max(len(m.Plants), 1))
	for i := range results {
		results[i] = result{ID: m.ID, What: m.What}
	}
	for i, p := range m.Plants {
		results[i].Where = p.Where
	}
	defer func() {
		for _, x := range results {
			x.print(time.Since(began))
		}
	}()
	if m.Later != "" {
		fill(results, later, m.Later)
		return results, nil
	}
	err := t.plant(m.Edits())
	if err != nil {
		fill(results, rotten, err.Error())
	} else if err = r.checker.check(t); err != nil {
		fill(results, broken, err.Error())
	} else if r.check {
		fill(results, compiles, "")
	} else if m.Equivalent != "" {
		fill(results, equivalent, m.Equivalent)
	} else if err = r.suites(ctx, t, m, results); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), t.restore())
		}
		fill(results, broken, err.Error())
	}
	return results, t.restore()
}

// suites runs those of the plants: behind the switch, if that will do and shows
// it, or with tests that are compiled anew.
func (r *runner) suites(ctx context.Context, t *tree, m mutants.Mutant, results []result) error {
	for _, p := range m.Plants {
		if err := r.unfit[p.Suite]; err != nil {
			fill(results, unfit, p.Suite+": "+err.Error())
			return nil
		}
	}
	own := testRun{binary: filepath.Join(t.dir, "mutant.test"), dir: t.dir, timeout: r.timeout}
	change, behind := r.changes[m.ID]
	with := own
	if behind {
		statements := filepath.Join(t.dir, "mutant.sql")
		if err := os.WriteFile(statements, []byte(strings.Join(change.statements, "\x00")), 0o644); err != nil {
			return err
		}
		with = testRun{binary: r.binary, dir: r.woven.dir, timeout: r.timeout, mutant: m.ID, statements: statements}
	} else if err := t.build(ctx, own.binary); err != nil {
		return err
	}
	for i, p := range m.Plants {
		by, err := with.suite(ctx, p.Suite, p.Count)
		if err == nil && by == "" && behind {
			// Perhaps the switch does not reach it.
			behind, with = false, own
			if err = t.build(ctx, own.binary); err == nil {
				by, err = with.suite(ctx, p.Suite, p.Count)
			}
		}
		switch {
		case err != nil:
			return err
		case by == "":
			results[i].Outcome, results[i].By = missed, p.Suite
		default:
			results[i].Outcome, results[i].By = caught, by
		}
	}
	return nil
}
