package wire_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// nobody is where no server listens: port 1 is never given out.
const nobody = "127.0.0.1:1"

// newClient has connections of its own, and no proxy of the machine's.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// serveConns lets serve have each connection, which is closed after it, and
// returns the address.
func serveConns(t *testing.T, serve func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var open []net.Conn
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			group.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	return l.Addr().String()
}

// arrival is a request that was read from the wire to its end.
type arrival struct {
	*http.Request
	body   []byte
	number int // of all that came, from 1
	onConn int // of those that came on this connection, from 1
}

// serveRaw reads requests and lets answer write what it likes; false closes the
// connection. It returns the address and the number of requests so far.
func serveRaw(t *testing.T, answer func(c net.Conn, a arrival) bool) (string, *atomic.Int32) {
	t.Helper()
	seen := new(atomic.Int32)
	address := serveConns(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for onConn := 1; ; onConn++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			if !answer(c, arrival{req, body, int(seen.Add(1)), onConn}) {
				return
			}
		}
	})
	return address, seen
}

// says writes text and closes the connection.
func says(text string) func(c net.Conn, a arrival) bool {
	return func(c net.Conn, _ arrival) bool {
		io.WriteString(c, text)
		return false
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// reset is what the client gets when the connection is closed.
func reset(c net.Conn) {
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		panic(err)
	}
}
