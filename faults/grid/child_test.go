package grid

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// childEnv holds the order for a process that is this test binary again.
const childEnv = "ONEJOB_GRID_CHILD"

// order is what such a process is to do.
type order struct {
	Op       string
	World    *world
	Postgres string // address
	SQLite   string // path
	// Dial stops it before it sends anything. Before and After stop it at the
	// commit, until it reads a line.
	Dial, Before, After bool
}

// report lines of a child.
const (
	sayStopped = "stopped" // where the order said
	sayReplied = "replied" // the call has returned, and its caller has not heard
)

// child makes the call, says what came of it, and waits for its end.
func child(spec string) {
	var o order
	if err := json.Unmarshal([]byte(spec), &o); err != nil {
		panic(err)
	}
	in := bufio.NewReader(os.Stdin)
	stop := func() {
		fmt.Println(sayStopped)
		if _, err := in.ReadString('\n'); err != nil {
			os.Exit(1) // the parent is gone
		}
	}
	op := operationNamed(o.Op)
	h, err := o.open(op, stop)
	if err != nil {
		panic(err)
	}
	a := answerOf(op, op.run(context.Background(), h))
	line, _ := json.Marshal(map[string]string{"told": string(a.told), "text": a.text, "try": string(h.w.Try)})
	fmt.Println(sayReplied, string(line))
	_, _ = io.Copy(io.Discard, in) // until it is killed, or its parent is gone
}

func (o *order) open(op *operation, stop func()) (*host, error) {
	log := slog.New(slog.DiscardHandler)
	if o.SQLite != "" {
		hook := &commitHook{skip: op.skip}
		if o.Before {
			hook.before = func() error { stop(); return nil }
		}
		if o.After {
			hook.after = func() error { stop(); return nil }
		}
		pools, err := openSQLite(o.SQLite, "FULL", 5*time.Second, hook)
		if err != nil {
			return nil, err
		}
		h := newHost(pools.store, pools.writer, question, op, o.World, log)
		warm(h)
		hook.arm()
		return h, nil
	}
	db, store, err := openPostgres(o.Postgres, &dialer{hold: o.Dial, stop: sync.OnceFunc(stop)})
	if err != nil {
		return nil, err
	}
	h := newHost(store, db, dollar, op, o.World, log)
	if !o.Dial {
		warm(h)
	}
	return h, nil
}

// warm has the store look at its schema, so that the fault meets the call.
func warm(h *host) { _, _ = h.jobs.GetByKey(context.Background(), "nobody", "nothing") }

// process is a child as its parent sees it.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

// spawn starts a child for the trial, with IDs that the trial knows.
func (tr *trial) spawn(o order) (*process, error) {
	mint := []string{uuid7(), uuid7()}[:tr.op.mints]
	w := *tr.w
	w.Mint = mint
	o.Op, o.World = tr.op.name, &w
	spec, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	tr.w.minted(tr.op, mint)
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(spec))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// hear waits for a line that begins with what is said, and returns the rest.
func (p *process) hear(said string) (string, error) {
	line, err := p.lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the process said nothing: %w", err)
	}
	if len(line) < len(said) || line[:len(said)] != said {
		return "", fmt.Errorf("the process said %q, not %q", line, said)
	}
	return line[len(said):], nil
}

// answer waits for the call to return.
func (p *process) answer() (answer, error) {
	line, err := p.hear(sayReplied)
	if err != nil {
		return answer{}, err
	}
	var said map[string]string
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		return answer{}, err
	}
	return answer{told: told(said["told"]), text: said["text"]}, nil
}

func (p *process) resume() { _, _ = p.in.Write([]byte("go\n")) }

// kill is kill -9, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
}
