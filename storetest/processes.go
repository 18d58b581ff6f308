package storetest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// Processes lets cases run several processes on one store: the test binary is
// run again, with the test that called Run. address tells where a store's data
// is, and open opens it there.
func Processes(address func(onejob.Store) string, open func(t *testing.T, address string) onejob.Store) Option {
	return func(o *options) { o.address, o.open = address, open }
}

// childEnv holds an order, in a process that was run by a case.
const childEnv = "ONEJOB_STORETEST_CHILD"

// order is what a process is to do: the work of that name, on that store.
type order struct {
	Test, Address, Work, Param string
}

// works are what processes can be told to do. Each returns what to report.
var works = map[string]func(h *harness, param string) any{}

// child carries the order out, where there is one for this test.
func (o options) child(t *testing.T) bool {
	raw := os.Getenv(childEnv)
	if raw == "" {
		return false
	}
	var ord order
	require.NoError(t, json.Unmarshal([]byte(raw), &ord))
	if ord.Test != t.Name() {
		return true
	}
	h := newHarness(t, o.open(t, ord.Address))
	// Begin together: the parent closes our standard input when all are up.
	_, err := os.Stdout.WriteString("ready\n")
	require.NoError(t, err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	report, err := json.Marshal(works[ord.Work](h, ord.Param))
	require.NoError(t, err)
	_, err = os.Stdout.WriteString("report " + string(report) + "\n")
	require.NoError(t, err)
	return true
}

var reportLine = regexp.MustCompile(`(?m)^report (.*)$`)

// inProcesses does the work in n processes at once and returns their reports.
func inProcesses[T any](h *harness, n int, work, param string) []T {
	h.Helper()
	exe, err := os.Executable()
	require.NoError(h, err)
	test := topTest(h.Name())
	raw, err := json.Marshal(order{test, h.options.address(h.store), work, param})
	require.NoError(h, err)

	reports := make([]T, n)
	var up, over sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		up.Add(1)
		over.Go(func() {
			cmd := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^")+"$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
			out := &readyWriter{up: sync.OnceFunc(up.Done)}
			cmd.Stdout, cmd.Stderr = out, out
			stdin, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				h.Errorf("cannot run a process: %v", err)
				out.up()
				return
			}
			go func() { <-gate; stdin.Close() }()
			err = cmd.Wait()
			out.up()
			m := reportLine.FindSubmatch(out.buf.Bytes())
			if err != nil || m == nil {
				h.Errorf("process %d: %v\n%s", i, err, out.buf.String())
				return
			}
			if err := json.Unmarshal(m[1], &reports[i]); err != nil {
				h.Errorf("process %d: %v", i, err)
			}
		})
	}
	up.Wait()
	close(gate)
	over.Wait()
	return reports
}

// readyWriter tells when the process is up, or over.
type readyWriter struct {
	mu  sync.Mutex
	buf bytes.Buffer
	up  func()
}

func (w *readyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	if bytes.Contains(w.buf.Bytes(), []byte("ready\n")) {
		w.up()
	}
	return len(p), nil
}

// topTest is the name of the test that called Run: what stands before the
// group and the case.
func topTest(name string) string {
	parts := regexp.MustCompile(`^(.*)/[^/]+/[^/]+$`).FindStringSubmatch(name)
	if parts == nil {
		return name
	}
	return parts[1]
}
