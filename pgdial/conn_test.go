package pgdial_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/pgdial"
)

// address returns the host and port of a DSN.
func address(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	return u.Host
}

// goroutines counts those in whose stack one of the names stands.
func goroutines(names ...string) (n int) {
	stacks := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		for _, name := range names {
			if strings.Contains(stack, name) {
				n++
				break
			}
		}
	}
	return n
}

func dial(t *testing.T, d pgdial.Dialer, address string) net.Conn {
	t.Helper()
	c, err := d.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func requireTimeout(t *testing.T, err error) {
	t.Helper()
	var network net.Error
	require.ErrorAs(t, err, &network)
	require.True(t, network.Timeout())
}

func TestSilenceIsBoundedUnderTLS(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	transport := server.Client().Transport.(*http.Transport)
	transport.DialContext = pgdial.Dialer{Silence: short}.DialContext
	var err error
	within(t, "the request", func() { _, err = server.Client().Get(server.URL) })
	require.ErrorContains(t, err, "silent for")
	requireTimeout(t, err)
}

func TestTheDriversOwnDeadlineCountsToo(t *testing.T) {
	t.Parallel()
	c := dial(t, pgdial.Dialer{Silence: time.Hour}, blackHole(t))
	read := func() error { _, err := c.Read(make([]byte, 1)); return err }
	var err error

	require.NoError(t, c.SetDeadline(time.Now().Add(50*time.Millisecond)))
	within(t, "a read under the driver's deadline", func() { err = read() })
	requireTimeout(t, err)
	require.NotContains(t, err.Error(), "silent", "the driver's deadline is not silence")

	require.NoError(t, c.SetDeadline(time.Time{})) // it is not closed, and waits again
	waiting := make(chan error, 1)
	go func() { waiting <- read() }()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	within(t, "a read whose deadline comes later", func() { err = <-waiting })
	requireTimeout(t, err)
}

func TestTheDriverDoesNotLiftSilence(t *testing.T) {
	t.Parallel()
	c := dial(t, pgdial.Dialer{Silence: short}, blackHole(t))
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		waiting <- err
	}()
	var err error
	within(t, "the read", func() {
		for {
			select {
			case err = <-waiting:
				return
			case <-time.After(10 * time.Millisecond):
				_ = c.SetDeadline(time.Time{})
			}
		}
	})
	require.ErrorContains(t, err, "silent for 1s")
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed, "a late answer must not be read")
}

func TestAPeerThatTakesNothingIsSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	c := dial(t, pgdial.Dialer{Silence: short}, l.Addr().String())
	within(t, "the write", func() { _, err = c.Write(make([]byte, 64<<20)) })
	requireTimeout(t, err)
	require.ErrorContains(t, err, "silent for")
}

func TestAListenerNeedsADialerWithoutSilence(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyPostgresDSN(t)
	lost := func(d pgdial.Dialer) (<-chan struct{}, *pq.Listener) {
		gone := make(chan struct{}, 100)
		l := pq.NewDialListener(d, dsn, 10*time.Millisecond, time.Second, func(e pq.ListenerEventType, _ error) {
			if e == pq.ListenerEventDisconnected {
				gone <- struct{}{}
			}
		})
		t.Cleanup(func() { l.Close() })
		require.NoError(t, l.Listen("c"))
		return gone, l
	}
	gone, _ := lost(pgdial.Dialer{Silence: short})
	within(t, "the listener under Silence", func() { <-gone })

	gone, l := lost(pgdial.Dialer{Silence: -1})
	time.Sleep(3 * short)
	require.Empty(t, gone)
	_, err := dbtest.OpenPostgres(t, dsn).Exec("NOTIFY c")
	require.NoError(t, err)
	within(t, "the notification", func() { require.NotNil(t, <-l.Notify) })
}
