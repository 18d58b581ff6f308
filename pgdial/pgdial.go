// Package pgdial bounds how long a connection to PostgreSQL may be silent.
//
// When a network swallows packets, or a server stops without closing its
// connections, lib/pq waits for an answer without end: a context that ends has
// it ask the server to cancel, and then it waits on. A [Dialer] ends that wait:
//
//	connector, err := pq.NewConnector(dsn)
//	connector.Dialer(pgdial.Dialer{})
//	db := sql.OpenDB(connector)
//
// It serves pgx too, which minds its contexts by itself, for calls whose context
// has no deadline: config.DialFunc = pgdial.Dialer{}.DialContext.
//
// The package depends on the standard library only.
package pgdial

import (
	"context"
	"net"
	"time"
)

// The defaults of a Dialer.
const (
	// DefaultSilence is far above what the statements of onejob take, which is
	// milliseconds unless they wait for a lock, and what a loaded server needs
	// to answer; and it is about as long as a person waits before giving up.
	DefaultSilence = 30 * time.Second
	// DefaultConnect is what lib/pq allows itself for the connection by which
	// it cancels a statement.
	DefaultConnect = 10 * time.Second
	// DefaultDeaf is longer than TCP takes to send a lost packet six times.
	DefaultDeaf = 20 * time.Second
)

// Dialer opens connections that do not stay silent for ever. The zero value has
// the defaults. It implements pq.Dialer and pq.DialerContext, and its
// DialContext is a pgconn.DialFunc.
//
// With lib/pq also the connections by which it cancels statements come from the
// Dialer. So on a network that swallows everything a call returns within about
// twice Silence and once Connect after its context has ended or after it last
// heard from the server, whichever comes first; one that tries again by itself,
// on another connection of the pool, within as many times that. A call that waits
// for a free connection of the pool is bounded by its context alone: there may be
// a queue of calls before it that each wait this long. Give them deadlines.
type Dialer struct {
	// Silence is how long a read may wait for the first byte, and a write for
	// the network to take some. After that the connection is closed and the
	// call gets a net.Error that is a timeout: what it asked for may have been
	// done. Default: DefaultSilence. Negative: no limit.
	//
	// A server says nothing while it works, or waits for a lock: so Silence has
	// to be longer than the longest statement on the pool. Better still, have
	// the server give up first, with statement_timeout and lock_timeout below
	// Silence; in lib/pq's and pgx's DSN "statement_timeout=20000". Then silence
	// can only mean a fault. Not so where commits wait for a synchronous standby:
	// statement_timeout would give up that wait, and not the commit. A pool for
	// long reports needs a Dialer of its own.
	//
	// So do onejob's Migrate and other DDL, which may wait long for another
	// process that migrates, or build an index for hours: give them a pool with a
	// negative Silence and without statement_timeout and lock_timeout. One that
	// was cut changed nothing, and may be run again.
	//
	// A connection that lies idle in the pool reads nothing and is not affected.
	// One that listens for notifications reads all the time: give pq.Listener a
	// Dialer with a negative Silence, or have it Ping more often than Silence.
	Silence time.Duration
	// Connect bounds the making of the connection of TCP. Its first messages are
	// under Silence. Default: DefaultConnect. Negative: no limit.
	Connect time.Duration
	// Deaf is how long the peer's machine may fail to acknowledge anything,
	// whether there is data under way (on Linux only: TCP_USER_TIMEOUT) or not
	// (keep-alive). It tells a dead network from a long statement, but sees
	// nothing when a proxy or a frozen server still acknowledges. Whole seconds,
	// at least 4. Default: DefaultDeaf. Negative: as the system has it.
	Deaf time.Duration
}

// Dial connects without a context.
func (d Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout connects within the timeout, and within Connect. Zero sets none.
func (d Dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	if timeout == 0 {
		return d.Dial(network, address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext connects under ctx, which does not bind the connection afterwards.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	nd := net.Dialer{Timeout: max(0, or(d.Connect, DefaultConnect))}
	if deaf := or(d.Deaf, DefaultDeaf); deaf > 0 {
		deaf = max(deaf, 4*time.Second)
		nd.KeepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: deaf / 2, Interval: deaf / 4, Count: 2}
		nd.ControlContext = acknowledge(deaf)
	}
	raw, err := nd.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if silence := or(d.Silence, DefaultSilence); silence > 0 {
		return bound(raw, silence), nil
	}
	return raw, nil
}

func or(d, standard time.Duration) time.Duration {
	if d == 0 {
		return standard
	}
	return d
}
