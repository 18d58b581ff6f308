package dbtest

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// taken is a port that somebody has.
func taken(t *testing.T) (int, net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port, l
}

func TestAClusterWhosePortIsTakenStartsOnAnother(t *testing.T) {
	t.Parallel()
	port, _ := taken(t)
	var offered []int
	cluster, err := startOn(func() (p int, err error) {
		if p = port; len(offered) > 0 {
			p, err = freePort()
		}
		offered = append(offered, p)
		return p, err
	}, "fsync=off")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	require.Greater(t, len(offered), 1)
	require.NotEqual(t, port, cluster.Port)
}

func TestAClusterWaitsForItsOldPort(t *testing.T) {
	t.Parallel()
	cluster, err := Start("fsync=off")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	require.NoError(t, cluster.Kill())
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(cluster.Port))
	require.NoError(t, err)
	booted := make(chan error, 1)
	go func() { booted <- cluster.Boot() }()
	require.NoError(t, until("the server finds its port taken", func() bool {
		text, _ := os.ReadFile(cluster.log())
		return strings.Contains(string(text), "could not bind")
	}))
	require.NoError(t, l.Close())
	require.NoError(t, <-booted)
}

// Otherwise its files would be removed under it.
func TestAServerThatDoesNotAnswerInTimeIsEnded(t *testing.T) {
	t.Parallel()
	cluster, err := Start("fsync=off")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	require.NoError(t, cluster.Kill())
	// A standby that takes no readers never answers.
	require.NoError(t, os.WriteFile(filepath.Join(cluster.data(), "standby.signal"), nil, 0o600))
	cluster.args = append(cluster.args, "-c", "hot_standby=off")
	require.ErrorContains(t, cluster.boot(2*time.Second), "does not answer")
	require.ErrorIs(t, syscall.Kill(cluster.cmd.Process.Pid, 0), syscall.ESRCH)
	require.Len(t, cluster.done, 1)
}
