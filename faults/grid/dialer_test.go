package grid

import (
	"net"
	"sync"
	"time"
)

// dialer may stop before it dials, and ends a wait in a black hole: lib/pq
// ignores contexts while it reads.
type dialer struct {
	hold bool
	stop func()

	mu    sync.Mutex
	conns []net.Conn
}

// Dial implements pq.Dialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, 0)
}

// DialTimeout implements pq.Dialer.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	if d.hold {
		d.stop()
	}
	c, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		d.mu.Lock()
		d.conns = append(d.conns, c)
		d.mu.Unlock()
	}
	return c, err
}

// silence is how long a client in a black hole waits for a byte.
const silence = 300 * time.Millisecond

// expire has every connection there is give up after silence. It counts from
// when the hole opens: on a machine that is busy with dozens of other holes a
// healthy server may take as long to answer.
func (d *dialer) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		_ = c.SetReadDeadline(time.Now().Add(silence))
	}
}
