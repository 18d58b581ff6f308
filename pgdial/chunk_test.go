package pgdial

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder notes how much is written under each deadline.
type recorder struct {
	net.Conn
	under []int
}

func (r *recorder) SetReadDeadline(time.Time) error { return nil }

func (r *recorder) SetWriteDeadline(time.Time) error {
	r.under = append(r.under, 0)
	return nil
}

func (r *recorder) Write(p []byte) (int, error) {
	r.under[len(r.under)-1] += len(p)
	return len(p), nil
}

// A slow network takes long for a large payload, and is not silent meanwhile.
func TestALargePayloadHasADeadlineForEachPart(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	n, err := bound(r, time.Second).Write(make([]byte, 3*chunk+1))
	require.NoError(t, err)
	require.Equal(t, 3*chunk+1, n)
	require.Equal(t, []int{chunk, chunk, chunk, 1}, r.under)
	n, err = bound(r, time.Second).Write(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}
