//go:build !linux

package pgdial

import (
	"context"
	"syscall"
	"time"
)

// acknowledge does nothing where there is no such setting: Silence does it all.
func acknowledge(time.Duration) func(context.Context, string, string, syscall.RawConn) error {
	return nil
}
