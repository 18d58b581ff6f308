package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is how long a server may take to answer after its start.
const patience = 30 * time.Second

// Boot starts the server and waits until it answers. While somebody else has the
// port it tries again, for some seconds.
func (c *Cluster) Boot() error {
	for limit := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := c.boot(patience)
		if !errors.Is(err, errPortTaken) || time.Now().After(limit) {
			return err
		}
	}
}

// boot makes one try. A server that does not answer in time is ended: whoever
// called may remove its files.
func (c *Cluster) boot(limit time.Duration) error {
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	c.cmd = exec.Command(filepath.Join(c.bin, "postgres"), c.args...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = c.dir, log, log
	c.cmd.SysProcAttr = dieWithParent(c.cred)
	if err := c.cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.done = done
	cmd := c.cmd
	go func() { done <- cmd.Wait() }()
	if err = c.waitUp(limit); err == nil {
		return nil
	}
	c.end(syscall.SIGQUIT)
	if text, _ := os.ReadFile(c.log()); bytes.Contains(text[min(int(before.Size()), len(text)):], []byte("Address already in use")) {
		err = errors.Join(errPortTaken, err)
	}
	return err
}

func (c *Cluster) log() string { return filepath.Join(c.dir, "server.log") }

func (c *Cluster) waitUp(limit time.Duration) error {
	// No context ends lib/pq's wait for a stranger on the port who says nothing.
	db, err := sql.Open("postgres", c.DSN("postgres")+"&connect_timeout=5")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		// Who answers may be another server, which was quicker to take the port.
		var ours bool
		err = db.QueryRowContext(ctx, "SELECT current_setting('data_directory') = $1", c.data()).Scan(&ours)
		if err == nil && ours {
			return nil
		}
		select {
		case exit := <-c.done:
			c.done <- exit
			text, _ := os.ReadFile(c.log())
			return fmt.Errorf("dbtest: the server ended: %w\n%s", exit, text)
		case <-ctx.Done():
			return fmt.Errorf("dbtest: the server does not answer: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the server and removes its files, and what it holds of the machine.
func (c *Cluster) Stop() error {
	var err error
	select {
	case <-c.done:
		err = c.tidy()
	default:
		c.end(syscall.SIGINT)
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// end asks the server to end, and then makes it. It may have ended already.
func (c *Cluster) end(first syscall.Signal) {
	for _, s := range []syscall.Signal{first, syscall.SIGQUIT, syscall.SIGKILL} {
		_ = c.cmd.Process.Signal(s)
		select {
		case exit := <-c.done:
			c.done <- exit // whoever asks later hears of it too
			return
		case <-time.After(20 * time.Second):
		}
	}
}
