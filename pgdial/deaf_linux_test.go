package pgdial_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/pgdial"
)

// The kernel does the rest. What it has been told is all that can be seen
// without cutting a cable.
func TestTheKernelKnowsHowLongThePeerMayBeDeaf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deaf           time.Duration
		user, idle, iv int
	}{
		{0, 20_000, 10, 5},
		{time.Second, 4_000, 2, 1},
		{time.Minute, 60_000, 30, 15},
	} {
		conn := dial(t, pgdial.Dialer{Silence: -1, Deaf: c.deaf}, blackHole(t))
		raw, err := conn.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		option := func(name int) (n int) {
			require.NoError(t, raw.Control(func(fd uintptr) {
				n, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, name)
			}))
			require.NoError(t, err)
			return n
		}
		require.Equal(t, c.user, option(0x12), "TCP_USER_TIMEOUT")
		require.Equal(t, c.idle, option(syscall.TCP_KEEPIDLE))
		require.Equal(t, c.iv, option(syscall.TCP_KEEPINTVL))
		require.Equal(t, 2, option(syscall.TCP_KEEPCNT))
	}
}
