package pgdial

import (
	"context"
	"strings"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name.
const tcpUserTimeout = 0x12

// acknowledge has the kernel give up a connection whose data nobody acknowledges:
// keep-alive only looks at connections with none under way, and without it TCP
// sends for a quarter of an hour.
func acknowledge(within time.Duration) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, _ string, raw syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(within.Milliseconds()))
		})
		if err == nil {
			err = failed
		}
		return err
	}
}
