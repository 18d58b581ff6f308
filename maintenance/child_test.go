package maintenance_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

// childEnv holds an errand, in a process that a test has started.
const childEnv = "ONEJOB_MAINTENANCE_CHILD"

// errand is a loop in a process of its own, until its stdin is closed.
type errand struct {
	DSN, File string
	Diary     string // a file that all of them write into
	Every     time.Duration
	Lease     time.Duration
	Work      time.Duration // how long a step takes beside what it does
	Limit     int
}

// entry is one line of the diary: a step has begun, or has ended.
type entry struct {
	PID   int
	Task  string
	Begun bool
	Run   int64 // which of the process's
	At    time.Time
}

func child(raw string) {
	if err := runChild(raw); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChild(raw string) error {
	var e errand
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		return err
	}
	d := &diary{}
	store, err := e.open(d)
	if err != nil {
		return err
	}
	if d.file, err = os.OpenFile(e.Diary, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		return err
	}
	var l *maintenance.Loop
	l, err = maintenance.New(onejob.New(store, nil), maintenance.Config{
		Sweep: maintenance.Sweep{Every: e.Every},
		Purge: maintenance.Purge{Every: e.Every, Retention: onejob.Retention{Payloads: time.Microsecond}, Limit: e.Limit, Pause: time.Millisecond},
		Reconcile: []maintenance.Reconcile{{Every: e.Every, Run: func(context.Context) (maintenance.Pass, error) {
			defer d.step("reconcile", asked(l).Runs)()
			time.Sleep(e.Work)
			return maintenance.Pass{}, nil
		}}},
	})
	if err != nil {
		return err
	}
	d.purging = func() func() {
		defer time.Sleep(e.Work)
		return d.step("purge", l.Counters().Purge.Runs)
	}
	maintenance.SetLease(l, e.Lease)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		os.Stdin.Read(make([]byte, 1)) // closed when the parent says so, or is gone
		cancel()
	}()
	return l.Run(ctx)
}

func (e errand) open(d *diary) (onejob.Store, error) {
	if e.File != "" {
		store, err := onejob.OpenSQLite(context.Background(), e.File, nil)
		return watched{store, store, store, d}, err
	}
	db, err := sql.Open("postgres", e.DSN)
	if err != nil {
		return nil, err
	}
	store, err := onejob.NewPostgresStore(db, nil)
	return watched{store, store, store, d}, err
}

// watched is a store whose purges stand in the diary.
type watched struct {
	onejob.Store
	onejob.OperatorStore
	onejob.TurnStore
	d *diary
}

func (s watched) Purge(ctx context.Context, r onejob.Retention, limit int, clock func() time.Time) (int, error) {
	defer s.d.purging()()
	return s.OperatorStore.Purge(ctx, r, limit, clock)
}

// diary is written line by line, so that a killed process leaves what it did.
type diary struct {
	mu      sync.Mutex
	file    *os.File
	purging func() func()
}

// step writes that a step begins, and returns what writes that it has ended.
func (d *diary) step(task string, run int64) func() {
	d.write(entry{os.Getpid(), task, true, run, time.Now()})
	return func() { d.write(entry{os.Getpid(), task, false, run, time.Now()}) }
}

func (d *diary) write(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// process starts a loop in another process. The test's end stops it, and waits.
func (w *world) process(e errand) *exec.Cmd {
	w.Helper()
	exe, err := os.Executable()
	require.NoError(w, err)
	raw, err := json.Marshal(e)
	require.NoError(w, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(w, err)
	require.NoError(w, cmd.Start())
	w.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != -1 { // -1: a signal's
			w.Errorf("a process did not end well: %v", err)
		}
	})
	return cmd
}

// diary makes the file.
func (w *world) diary() string {
	w.Helper()
	path := w.TempDir() + "/diary"
	require.NoError(w, os.WriteFile(path, nil, 0o600))
	return path
}

// read returns what stands in the diary of one task.
func (w *world) read(path, task string) []entry {
	w.Helper()
	f, err := os.Open(path)
	require.NoError(w, err)
	defer f.Close()
	var list []entry
	for dec := json.NewDecoder(f); dec.More(); {
		var e entry
		if dec.Decode(&e) != nil {
			break // it is being written
		}
		if e.Task == task {
			list = append(list, e)
		}
	}
	return list
}
