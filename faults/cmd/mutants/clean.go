package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/onejob-go/onejob/faults/mutants"
)

var passLine = regexp.MustCompile(`(?m)^\s*--- PASS: (.+) \(`)

// proveClean runs all suites without a mutant, in two runs: a test that is
// broken catches nothing, and neither does one that is not there.
func (r *runner) proveClean(ctx context.Context, picked []mutants.Mutant) error {
	var kit, rest []string
	for _, m := range picked {
		for _, p := range m.Plants {
			switch {
			case p.Suite == "":
			case strings.Contains(p.Suite, "/"):
				kit = append(kit, p.Suite)
			default:
				rest = append(rest, p.Suite)
			}
		}
	}
	for _, suites := range [][]string{kit, rest} {
		if len(suites) == 0 {
			continue
		}
		out, err := testRun{binary: r.binary, dir: r.woven.dir, timeout: 5 * r.timeout}.tests(ctx, union(suites), 1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		passed, failed := names(passLine, out), names(failLine, out)
		for _, s := range suites {
			match := matcher(s)
			switch {
			case slices.ContainsFunc(failed, match):
				r.unfit[s] = errors.New("it fails on the clean tree too")
			case slices.ContainsFunc(passed, match):
			case err != nil:
				r.unfit[s] = errors.New("the run on the clean tree ended before it passed: " + tail(out))
			default:
				r.unfit[s] = errors.New("no test has this name")
			}
		}
	}
	return nil
}

func names(line *regexp.Regexp, out string) []string {
	var list []string
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		list = append(list, m[1])
	}
	return list
}

// union is a pattern that matches what the patterns match, and more.
func union(suites []string) string {
	var levels [][]string
	for _, s := range suites {
		for i, part := range strings.Split(s, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			if !slices.Contains(levels[i], part) {
				levels[i] = append(levels[i], part)
			}
		}
	}
	parts := make([]string, len(levels))
	for i, level := range levels {
		parts[i] = "(" + strings.Join(level, "|") + ")"
	}
	return strings.Join(parts, "/")
}

// matcher matches the name of exactly the test that a suite names.
func matcher(suite string) func(name string) bool {
	var levels []*regexp.Regexp
	for part := range strings.SplitSeq(suite, "/") {
		levels = append(levels, regexp.MustCompile(part))
	}
	return func(name string) bool {
		parts := strings.Split(name, "/")
		if len(parts) != len(levels) {
			return false
		}
		for i, level := range levels {
			if !level.MatchString(parts[i]) {
				return false
			}
		}
		return true
	}
}
