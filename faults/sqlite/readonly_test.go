package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

const readOnly = "ONEJOB_FAULTS_READONLY"

// readAndWrite is the process that may not write the file.
func readAndWrite(path string) {
	ctx := context.Background()
	store, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	_, _, err = onejob.New(store, nil).Create(ctx, charge("second"))
	fmt.Println("refused:", err)
}

// A process whose user may not write the file is told so, with a reason, and
// takes no job.
func TestAFileThatMayNotBeWrittenTakesNothing(t *testing.T) {
	path := migrated(t)
	// Where the other user can run it and look for the file.
	dir, err := os.MkdirTemp("", "onejob-readonly-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	binary, file := filepath.Join(dir, "worker"), filepath.Join(dir, "jobs.db")
	copyFile(t, os.Args[0], binary, 0o555)
	copyFile(t, path, file, 0o444)
	require.NoError(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)

	cmd := exec.Command(binary)
	cmd.Dir, cmd.Env = "/", []string{readOnly + "=" + file}
	if os.Geteuid() == 0 { // whom no permission stops
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "refused: onejob: ")
	require.Contains(t, string(out), "may not be written")

	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(file, 0o644))
	jobs := onejob.New(dbtest.OpenSQLite(t, file), nil)
	_, err = jobs.GetByKey(t.Context(), "OWNER-1", "second")
	require.ErrorIs(t, err, onejob.ErrNotFound)
	job, err := jobs.GetByKey(t.Context(), "OWNER-1", "first")
	require.NoError(t, err)
	require.Equal(t, onejob.JobCompleted, job.State)
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, mode))
}
