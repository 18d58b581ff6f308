// Package storm runs worker processes on the same jobs while servers and
// workers are killed, stopped and cut off, and checks what they were told.
package storm

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/checker"
	"github.com/onejob-go/onejob/faults/history"
	"github.com/onejob-go/onejob/faults/worker"
)

// crew is the worker processes of a run. One that dies has a successor at once.
type crew struct {
	t      testing.TB
	config func(name string) worker.Config
	mu     sync.Mutex
	all    []*member
	names  int
	killed int
	paused int
	files  []string // their histories
	rng    *rand.Rand
	*schedule
}

type member struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan error
}

// schedule is what was done, and when.
type schedule struct {
	mu     sync.Mutex
	events []checker.Event
}

func (s *schedule) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, checker.Event{At: history.Now(), What: fmt.Sprintf(format, args...)})
}

func newCrew(t testing.TB, size int, seed uint64, log *schedule, config func(name string) worker.Config) *crew {
	c := &crew{t: t, config: config, schedule: log, rng: rand.New(rand.NewPCG(seed, 99))}
	for range size {
		c.all = append(c.all, c.hire())
	}
	return c
}

func (c *crew) hire() *member {
	c.names++
	config := c.config(fmt.Sprintf("w%d", c.names))
	cmd, stdin, err := worker.Command(config)
	require.NoError(c.t, err)
	require.NoError(c.t, cmd.Start())
	c.files = append(c.files, config.History)
	m := &member{config.Name, cmd, stdin, make(chan error, 1)}
	go func() { m.ended <- cmd.Wait() }()
	return m
}

// kill ends one worker in the middle of whatever it does. One that is dead
// already has failed, and nobody must take that for a kill.
func (c *crew) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.rng.IntN(len(c.all))
	m := c.all[n]
	select {
	case err := <-m.ended:
		c.t.Errorf("worker %s ended by itself, see its lines above: %v", m.name, err)
	default:
		_ = m.cmd.Process.Kill()
		<-m.ended
		c.killed++
		c.note("killed worker %s", m.name)
	}
	m.stdin.Close()
	c.all[n] = c.hire()
}

// pause stops one worker for a while, and lets it go on as if nothing had
// happened.
func (c *crew) pause(d time.Duration) {
	c.mu.Lock()
	m := c.all[c.rng.IntN(len(c.all))]
	_ = m.cmd.Process.Signal(syscall.SIGSTOP)
	c.paused++
	c.note("stopped worker %s for %v", m.name, d)
	c.mu.Unlock()
	time.Sleep(d)
	_ = m.cmd.Process.Signal(syscall.SIGCONT) // killed meanwhile: no matter
}

// dismiss lets all workers finish what they do, and look for leaks.
func (c *crew) dismiss() {
	for _, m := range c.all {
		m.stdin.Close()
	}
	for _, m := range c.all {
		require.NoError(c.t, <-m.ended, "worker %s failed: see its lines above", m.name)
	}
}

// every does f again and again, until stop is closed, after a pause of about d.
func every(stop <-chan struct{}, wg *sync.WaitGroup, d time.Duration, seed uint64, f func(rng *rand.Rand)) {
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(seed, uint64(d)))
		for {
			select {
			case <-stop:
				return
			case <-time.After(d/2 + time.Duration(rng.Int64N(int64(d)))):
				f(rng)
			}
		}
	})
}
