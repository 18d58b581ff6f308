// Withpostgres runs a command with ONEJOB_TEST_POSTGRES naming a temporary
// PostgreSQL server, and stops the server afterwards:
//
//	go run ./internal/dbtest/withpostgres go test ./...
//
// So the packages of one run share a server. Where the variable is set already,
// the command just runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/onejob-go/onejob/internal/dbtest"
)

const variable = "ONEJOB_TEST_POSTGRES"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withpostgres COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv(variable) == "" {
		// What is lost with the machine's power is a test's: do not wait for disks.
		cluster, err := dbtest.Start("fsync=off", "full_page_writes=off")
		if err != nil {
			return 1, err
		}
		defer cluster.Stop()
		os.Setenv(variable, cluster.DSN("postgres"))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}
