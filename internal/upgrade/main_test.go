package upgrade_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// workerEnv is the address of the database on which a process is to be a worker:
// ours or a release's.
const workerEnv = "ONEJOB_UPGRADE_WORKER"

func TestMain(m *testing.M) {
	if address := os.Getenv(workerEnv); address != "" {
		exit(worker.Serve(os.Stdin, os.Stdout, address))
		return
	}
	dir, err := os.MkdirTemp("", "onejob-upgrade-")
	exit(err)
	workshop = dir
	dbtest.Main(m, func() { os.RemoveAll(dir) })
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
