package upgrade_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// process is a worker in another process.
type process struct {
	t       *testing.T
	mu      sync.Mutex
	in      *json.Encoder
	n       int
	waiting map[int]chan worker.Answer
	err     bytes.Buffer
}

// on starts the release's program on a database.
func (r *release) on(t *testing.T, address string) *process {
	t.Helper()
	return start(t, r.program(t), address)
}

// presentOn starts this very program, as a worker.
func presentOn(t *testing.T, address string) *process {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return start(t, exe, address)
}

func start(t *testing.T, program, address string) *process {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), workerEnv+"="+address)
	p := &process{t: t, waiting: map[int]chan worker.Answer{}}
	cmd.Stderr = &p.err
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p.in = json.NewEncoder(in)
	over := make(chan struct{})
	go func() { defer close(over); p.listen(out) }()
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		<-over
		require.NoError(t, cmd.Wait(), p.err.String())
	})
	return p
}

func (p *process) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a worker.Answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			p.t.Errorf("a worker said %q", lines.Text())
			break
		}
		p.mu.Lock()
		p.waiting[a.N] <- a
		delete(p.waiting, a.N)
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, c := range p.waiting { // it is over: nobody may wait for it
		delete(p.waiting, n)
		close(c)
	}
	p.waiting = nil
}

// send gives an order and returns where its answer comes. No answer comes from a
// process that is over.
func (p *process) send(do string, o worker.Order) <-chan worker.Answer {
	c := make(chan worker.Answer, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		close(c)
		return c
	}
	p.n++
	o.N, o.Do = p.n, do
	p.waiting[o.N] = c
	if err := p.in.Encode(o); err != nil {
		p.t.Errorf("a worker takes no order: %v", err)
	}
	return c
}

// ask gives an order and waits for its answer, which may be a refusal.
func (p *process) ask(do string, o worker.Order) worker.Answer {
	p.t.Helper()
	a, ok := <-p.send(do, o)
	require.True(p.t, ok, "the worker ended")
	return a
}

// does is ask for what must not be refused.
func (p *process) does(do string, o worker.Order) worker.Answer {
	p.t.Helper()
	a := p.ask(do, o)
	require.Empty(p.t, a.Text, do)
	return a
}
