package pgdial

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// conn is a connection whose reads and writes do not wait for ever.
type conn struct {
	net.Conn
	silence     time.Duration
	read, write deadline
}

func bound(raw net.Conn, silence time.Duration) *conn {
	c := &conn{Conn: raw, silence: silence}
	c.read.set, c.write.set = raw.SetReadDeadline, raw.SetWriteDeadline
	return c
}

// deadline is the earlier of the driver's and ours.
type deadline struct {
	mu           sync.Mutex
	set          func(time.Time) error
	driver, ours time.Time
}

// arm begins a wait that ends after d. One that is left armed does no harm:
// nothing waits until the next is armed.
func (l *deadline) arm(d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ours = time.Now().Add(d)
	return l.apply()
}

// byDriver is the driver's own deadline, which may come in the midst of a wait
// and must not lift ours.
func (l *deadline) byDriver(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.driver = t
	return l.apply()
}

func (l *deadline) apply() error {
	t := l.ours
	if t.IsZero() || !l.driver.IsZero() && l.driver.Before(t) {
		t = l.driver
	}
	return l.set(t)
}

// passed reports whether err comes from our deadline and not the driver's.
func (l *deadline) passed(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Is(err, os.ErrDeadlineExceeded) && (l.driver.IsZero() || l.ours.Before(l.driver))
}

// Read waits for the first byte no longer than the silence.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.read.arm(c.silence); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	return n, c.ended("read", &c.read, err)
}

// chunk is how much is written under one deadline: a large payload on a slow
// network is not silence.
const chunk = 64 << 10

// Write waits for the network to take some no longer than the silence.
func (c *conn) Write(p []byte) (written int, err error) {
	for {
		if err := c.write.arm(c.silence); err != nil {
			return written, err
		}
		part := p[written:min(len(p), written+chunk)]
		n, err := c.Conn.Write(part)
		written += n
		if err != nil || written == len(p) {
			return written, c.ended("write", &c.write, err)
		}
	}
}

// ended closes a silent connection: an answer that came later would be taken for
// the answer to the next question. The error is a *net.OpError, because from that
// lib/pq sees that the connection is bad and that nothing must be sent again.
func (c *conn) ended(op string, l *deadline, err error) error {
	if err == nil || !l.passed(err) {
		return err
	}
	c.Conn.Close()
	at := c.RemoteAddr()
	return &net.OpError{Op: op, Net: at.Network(), Source: c.LocalAddr(), Addr: at, Err: silent(c.silence)}
}

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.read.byDriver(t), c.write.byDriver(t))
}

// SetReadDeadline sets the driver's own deadline.
func (c *conn) SetReadDeadline(t time.Time) error { return c.read.byDriver(t) }

// SetWriteDeadline sets the driver's own deadline.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.write.byDriver(t) }

// silent is the error of a connection that said nothing for so long.
type silent time.Duration

func (s silent) Error() string {
	return "the server was silent for " + time.Duration(s).String() + ": what it was asked may have been done"
}

// Timeout makes it a net.Error that is a timeout.
func (s silent) Timeout() bool { return true }

// Temporary is false: crypto/tls would go on with a connection that is closed.
func (s silent) Temporary() bool { return false }

// Is makes it equal to the error it replaces.
func (s silent) Is(target error) bool { return target == os.ErrDeadlineExceeded }
