package dbtest

import (
	"errors"
	"syscall"
)

// Pause stops all processes of the server where they are, as a machine does that
// has hung: connections stay open, and nobody answers. End it with Resume or
// Kill, not with Stop.
func (c *Cluster) Pause() error { return c.signalAll(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (c *Cluster) Resume() error { return c.signalAll(syscall.SIGCONT) }

// signalAll begins with the postmaster, which can then have no new child.
func (c *Cluster) signalAll(s syscall.Signal) error {
	postmaster := c.cmd.Process.Pid
	if err := syscall.Kill(postmaster, s); err != nil {
		return err
	}
	if s == syscall.SIGSTOP {
		if err := stopped(postmaster); err != nil {
			return err
		}
	}
	children, err := descendants(postmaster)
	if err != nil {
		return err
	}
	for _, p := range children {
		if err := syscall.Kill(p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
