package dbtest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// leftovers are what the kernel would keep of the cluster's running server: files
// of shared memory, and a segment of System V.
type leftovers struct {
	files   []string
	segment string // key and number, as postmaster.pid has them
}

var sharedFile = regexp.MustCompile(`/dev/shm/PostgreSQL\.\d+`)

func heldBy(t *testing.T, c *Cluster) leftovers {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.cmd.Process.Pid))
	require.NoError(t, err)
	lock, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	require.NoError(t, err)
	lines := strings.Split(string(lock), "\n")
	require.Greater(t, len(lines), 6, "%q", lock)
	l := leftovers{sharedFile.FindAllString(string(maps), -1), strings.Join(strings.Fields(lines[6]), " ")}
	require.NotEmpty(t, l.files)
	require.True(t, l.segmentThere(t), "%+v", l)
	return l
}

func (l leftovers) segmentThere(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/shm")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0]+" "+fields[1] == l.segment {
			return true
		}
	}
	return false
}

// A thousand kills would otherwise use up what the machine has of such objects.
func TestAClusterThatIsStoppedDeadLeavesNothingInTheKernel(t *testing.T) {
	t.Parallel()
	primary, err := Start("fsync=off")
	require.NoError(t, err)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = primary.Stop()
		}
	})
	standby, err := primary.Standby("second")
	require.NoError(t, err)
	for _, c := range []*Cluster{standby, primary} {
		left := heldBy(t, c)
		require.NoError(t, c.Kill())
		for _, f := range left.files {
			require.FileExists(t, f, "a kill leaves it, or this test shows nothing")
		}
		require.True(t, left.segmentThere(t), "a kill leaves it, or this test shows nothing")
		require.NoError(t, c.Stop())
		stopped = c == primary
		for _, f := range left.files {
			require.NoFileExists(t, f)
		}
		require.False(t, left.segmentThere(t), "%+v", left)
		require.NoDirExists(t, c.dir)
	}
}

// Clients that know both servers of a pair must not be led to the dead one.
func TestAClusterThatIsStoppedDeadTakesNoClients(t *testing.T) {
	t.Parallel()
	cluster, err := Start("fsync=off")
	require.NoError(t, err)
	require.NoError(t, cluster.Kill())
	over, answered := make(chan struct{}), make(chan bool, 1)
	go func() {
		db, err := sql.Open("postgres", cluster.DSN("postgres"))
		if err == nil {
			defer db.Close()
		}
		for err == nil {
			select {
			case <-over:
				answered <- false
				return
			default:
			}
			var dir string
			if db.QueryRow("SELECT current_setting('data_directory')").Scan(&dir) == nil && dir == cluster.data() {
				break
			}
		}
		answered <- true
	}()
	require.NoError(t, cluster.Stop())
	close(over)
	require.False(t, <-answered)
}
