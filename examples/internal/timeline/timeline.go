// Package timeline prints what an example does as a table that a person reads
// in ten seconds (when, who, what), and keeps the list of the promises that
// were broken.
package timeline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"
)

// Timeline is safe for use by many goroutines: rows come out whole, in the
// order in which they happened.
type Timeline struct {
	mu     sync.Mutex
	w      io.Writer
	start  time.Time
	broken []error
}

// New returns a timeline that writes to w.
func New(w io.Writer) *Timeline { return &Timeline{w: w, start: time.Now()} }

// Scene begins a new table, whose clock begins at zero.
func (t *Timeline) Scene(title string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start = time.Now()
	fmt.Fprintf(t.w, "\n%s\n", title)
}

// Row tells what somebody did just now.
func (t *Timeline) Row(who, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "%5d ms  %-10s  %s\n", time.Since(t.start).Milliseconds(), who, fmt.Sprintf(format, args...))
}

// Note adds a line to the row before.
func (t *Timeline) Note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "%22s%s\n", "", fmt.Sprintf(format, args...))
}

// Promise tells whether a promise was kept. It reports kept, so that a story
// that cannot go on can stop.
func (t *Timeline) Promise(kept bool, format string, args ...any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	promise, word := fmt.Sprintf(format, args...), "kept"
	if !kept {
		word = "BROKEN"
		t.broken = append(t.broken, errors.New("broken promise: "+promise))
	}
	fmt.Fprintf(t.w, "%8s  %s\n", word, promise)
	return kept
}

// Err returns the broken promises, or nil.
func (t *Timeline) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.broken...)
}

// Short is the end of an ID: enough to tell two apart.
func Short[T ~string](id T) string {
	const digits = 6
	if len(id) <= digits {
		return string(id)
	}
	return "…" + string(id[len(id)-digits:])
}

// Main runs an example, for half a minute at most. An error, a broken promise
// among them, ends the program with status 1.
func Main(run func(ctx context.Context, w io.Writer, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := run(ctx, os.Stdout, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
