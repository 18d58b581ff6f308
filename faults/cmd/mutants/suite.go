package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	failLine    = regexp.MustCompile(`(?m)^\s*--- FAIL: (.+) \(`)
	runLine     = regexp.MustCompile(`(?m)^=== RUN\s+(\S+)`)
	runningLine = regexp.MustCompile(`(?m)^\s+(Test\S+) \(.*\)$`)
	panicLine   = regexp.MustCompile(`(?m)^(panic|fatal error): (.*)`)
)

// testRun is how to run a test binary.
type testRun struct {
	binary, dir string
	mutant      string // for the switch, with its statements
	statements  string
	timeout     time.Duration
}

// tests runs those that the pattern names, and returns what they print.
func (r testRun) tests(ctx context.Context, pattern string, count int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.binary, "-test.run="+pattern, "-test.v", "-test.failfast="+strconv.FormatBool(count > 1),
		"-test.count="+strconv.Itoa(count), "-test.timeout="+r.timeout.String())
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), switchID+"="+r.mutant, switchFile+"="+r.statements)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second // children of a binary that was killed may hold its output
	err := cmd.Run()
	return out.String(), err
}

// suite runs one suite, and returns the test that failed, or "" if it passed.
// A suite that holds no test is an error.
func (r testRun) suite(ctx context.Context, name string, count int) (string, error) {
	text, err := r.tests(ctx, name, count)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if !deepEnough(names(runLine, text), name) {
		return "", fmt.Errorf("no test ran that is named %s\n%s", name, tail(text))
	}
	if err == nil {
		return "", nil
	}
	return culprit(text), nil
}

// deepEnough reports whether a test ran that is as deep as the pattern.
func deepEnough(runs []string, pattern string) bool {
	depth := strings.Count(pattern, "/")
	for _, run := range runs {
		if strings.Count(run, "/") >= depth {
			return true
		}
	}
	return false
}

// culprit is the innermost test that failed, and how if not by itself.
func culprit(text string) string {
	deepest := ""
	for _, m := range failLine.FindAllStringSubmatch(text, -1) {
		if strings.Count(m[1], "/") > strings.Count(deepest, "/") || deepest == "" {
			deepest = m[1]
		}
	}
	if m := panicLine.FindStringSubmatch(text); m != nil {
		if strings.Contains(m[2], "test timed out") {
			if running := runningLine.FindAllStringSubmatch(text, -1); running != nil {
				return running[len(running)-1][1] + ", which hangs"
			}
			return "a test that hangs"
		}
		if runs := runLine.FindAllStringSubmatch(text, -1); deepest == "" && runs != nil {
			deepest = runs[len(runs)-1][1]
		}
		return deepest + ", which panics"
	}
	if deepest == "" {
		return "a run that ends with an error"
	}
	return deepest
}

func tail(text string) string {
	const enough = 1000
	return text[max(0, len(text)-enough):]
}
