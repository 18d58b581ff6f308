package onejobtest_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// fakeT is a test within a test: it may fail, and what it logged can be read.
type fakeT struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	log      strings.Builder
	cleanups []func()
}

// newFake returns one that ends with t at the latest.
func newFake(t testing.TB) *fakeT {
	f := &fakeT{TB: t}
	t.Cleanup(f.end)
	return f
}

func (f *fakeT) Helper()          {}
func (f *fakeT) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func (f *fakeT) TempDir() string {
	dir, err := os.MkdirTemp("", "onejobtest-fake-")
	if err != nil {
		panic(err)
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (f *fakeT) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(&f.log, format+"\n", args...)
}

func (f *fakeT) Errorf(format string, args ...any) {
	f.Logf(format, args...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = true
}

func (f *fakeT) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// end runs the clean-up functions, as a test's end does.
func (f *fakeT) end() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	f.cleanups = nil
}
