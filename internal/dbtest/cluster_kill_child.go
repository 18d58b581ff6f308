package dbtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// KillChild ends one process of the server other than the postmaster, which then
// ends all the others and starts them anew. It returns when the server answers
// again.
func (c *Cluster) KillChild(rng *rand.Rand) error {
	children, err := descendants(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if len(children) == 0 {
		return errors.New("dbtest: the server has no children")
	}
	victim := children[rng.IntN(len(children))]
	if err := syscall.Kill(victim.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("dbtest: killing a child of the server: %w", err)
	}
	if err := until(fmt.Sprintf("process %d of the server is gone", victim.pid), victim.gone); err != nil {
		return err
	}
	return c.waitUp(30 * time.Second)
}
