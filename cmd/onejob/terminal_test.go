package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal is the command with a person before it.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys interface{ WriteString(string) (int, error) }
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // something was shown
	done chan struct{}
}

// sit starts the command on a terminal of its own.
func (w *world) sit(args ...string) *terminal {
	w.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = environ([]string{"ONEJOB_DSN=" + w.dsn})
	screen, err := pty.Start(cmd)
	require.NoError(w, err)
	term := &terminal{t: w.T, cmd: cmd, keys: screen, more: make(chan struct{}, 1), done: make(chan struct{})}
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-term.done
		screen.Close()
	})
	go func() {
		defer close(term.done)
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			term.mu.Lock()
			term.text.Write(buf[:n])
			term.mu.Unlock()
			select {
			case term.more <- struct{}{}:
			default:
			}
			if err != nil {
				_ = cmd.Wait()
				return
			}
		}
	}()
	return term
}

// screen is all that was shown so far.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// waits until the text is shown.
func (t *terminal) waits(text string) {
	t.t.Helper()
	limit := time.After(5 * time.Minute)
	for !strings.Contains(t.screen(), text) {
		select {
		case <-t.more:
		case <-t.done:
			require.Contains(t.t, t.screen(), text, "the command ended")
		case <-limit:
			require.Contains(t.t, t.screen(), text)
		}
	}
}

func (t *terminal) types(text string) {
	t.t.Helper()
	_, err := t.keys.WriteString(text)
	require.NoError(t.t, err)
}

// exits waits for the end.
func (t *terminal) exits(code int) string {
	t.t.Helper()
	select {
	case <-t.done:
	case <-time.After(5 * time.Minute):
		require.Fail(t.t, "the command does not end", t.screen())
	}
	require.Equal(t.t, code, t.cmd.ProcessState.ExitCode(), t.screen())
	return t.screen()
}
