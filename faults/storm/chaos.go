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
}

type member struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func newCrew(t testing.TB, size int, seed uint64, config func(name string) worker.Config) *crew {
	c := &crew{t: t, config: config, rng: rand.New(rand.NewPCG(seed, 99))}
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
	return &member{cmd, stdin}
}

// kill ends one worker in the middle of whatever it does.
func (c *crew) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.rng.IntN(len(c.all))
	m := c.all[n]
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.stdin.Close()
	c.killed++
	c.all[n] = c.hire()
}

// pause stops one worker for a while, and lets it go on as if nothing had
// happened.
func (c *crew) pause(d time.Duration) {
	c.mu.Lock()
	m := c.all[c.rng.IntN(len(c.all))]
	_ = m.cmd.Process.Signal(syscall.SIGSTOP)
	c.paused++
	c.mu.Unlock()
	time.Sleep(d)
	_ = m.cmd.Process.Signal(syscall.SIGCONT) // killed meanwhile: no matter
}

// dismiss lets all workers finish what they do.
func (c *crew) dismiss() {
	for _, m := range c.all {
		m.stdin.Close()
	}
	for _, m := range c.all {
		require.NoError(c.t, m.cmd.Wait(), "a worker failed: see its lines above")
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
