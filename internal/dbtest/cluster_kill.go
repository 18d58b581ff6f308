package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one line of the kernel's table.
type process struct {
	pid, parent int
	state       string // Z and X are dead
	start       string // tells a process from a later one with the same number
}

// Kill ends the server as a machine that loses its power does: SIGKILL to the
// postmaster and to all its children, none of which may tidy up. It returns when
// all of them are gone, and Boot may follow at once. It needs /proc.
func (c *Cluster) Kill() error {
	select {
	case exit := <-c.done: // dead already
		c.done <- exit
		return nil
	default:
	}
	postmaster := c.cmd.Process.Pid
	// A postmaster that is not stopped first may have a child that no list has.
	if err := syscall.Kill(postmaster, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("dbtest: stopping the server: %w", err)
	}
	if err := stopped(postmaster); err != nil {
		return err
	}
	victims, err := descendants(postmaster)
	if err != nil {
		return err
	}
	_ = syscall.Kill(postmaster, syscall.SIGKILL)
	// Each backend is in a session of its own: a signal to the postmaster's group
	// does not reach it.
	for _, v := range victims {
		_ = syscall.Kill(v.pid, syscall.SIGKILL)
	}
	exit := <-c.done
	c.done <- exit // Stop waits for it too
	for _, v := range victims {
		if err := until(fmt.Sprintf("process %d of the server is gone", v.pid), v.gone); err != nil {
			return err
		}
	}
	// The next server would take a stranger with the old number for this one.
	for _, name := range []string{"data/postmaster.pid", fmt.Sprintf(".s.PGSQL.%d.lock", c.Port)} {
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tidy removes the shared memory of a server that could not do so itself: the
// kernel keeps it when all its processes are dead. The next start of a server on
// the same files does that. This one takes no clients: another server may have
// taken this one's place, and must not lose any to it.
func (c *Cluster) tidy() error {
	// What it waited for as a standby may be gone.
	if err := os.Remove(filepath.Join(c.data(), "standby.signal")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.run("postgres", "--single", "-F", "-D", c.data(), "postgres")
}

// stopped waits until the process has stopped: a signal takes its time.
func stopped(pid int) error {
	return until(fmt.Sprintf("process %d has stopped", pid), func() bool {
		p, err := lookUp(pid)
		return err != nil || strings.Contains("TtZX", p.state)
	})
}

// gone reports whether the process holds nothing any more. One that nobody waits
// for stays in the table as a zombie.
func (p process) gone() bool {
	now, err := lookUp(p.pid)
	return err != nil || now.start != p.start || now.state == "Z" || now.state == "X"
}

func until(what string, done func() bool) error {
	for limit := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return fmt.Errorf("dbtest: waited in vain until %s", what)
		}
	}
	return nil
}

// lookUp reads what the kernel tells of a process.
func lookUp(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	// The name stands in parentheses and may hold anything, spaces too.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("dbtest: /proc/%d/stat is too short", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid, parent, fields[0], fields[19]}, err
}

// descendants returns the children of a process, and theirs.
func descendants(pid int) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := lookUp(n); err == nil { // it may have ended since
			children[p.parent] = append(children[p.parent], p)
		}
	}
	list := children[pid]
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
	}
	return list, nil
}
