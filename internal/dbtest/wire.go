package dbtest

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wire is a proxy in front of PostgreSQL that counts round trips as they are:
// what the driver does by itself, such as preparing a statement or sending one
// twice, shows here and nowhere else.
type Wire struct {
	// DSN is the address of the database through the proxy.
	DSN   string
	trips atomic.Int64
	// How many statements the client had parsed within a transaction, and
	// outside of one.
	within, outside atomic.Int64
}

// NewWire opens a proxy to the database. It closes when the test ends. The
// address must be one of a host and a port, without TLS.
func NewWire(t testing.TB, dsn string) *Wire {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	w := &Wire{}
	server := u.Host
	u.Host = l.Addr().String()
	w.DSN = u.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(client, server)
		}
	}()
	return w
}

// RoundTrips returns how often the server told that it was ready for the next
// query, since the last call or since the start. The end of a connection's
// startup is not counted.
func (w *Wire) RoundTrips() int { return int(w.trips.Swap(0)) }

// ParsedWithin returns how many statements were parsed within a transaction.
func (w *Wire) ParsedWithin() int { return int(w.within.Load()) }

// ParsedOutside returns how many were parsed outside of one.
func (w *Wire) ParsedOutside() int { return int(w.outside.Load()) }

// serve passes bytes on until one side ends the connection.
func (w *Wire) serve(client net.Conn, server string) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	var status atomic.Int32 // of the session, as the server told last
	go func() {
		_ = w.questions(up, client, &status)
		up.Close()
	}()
	_ = w.answers(client, up, &status)
}

// questions passes on what the client says, a message at a time, after the
// first, which has no type.
func (w *Wire) questions(server io.Writer, client io.Reader, status *atomic.Int32) error {
	const parse, idle = 'P', 'I'
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[1:]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return err
		}
		if !first && head[0] == parse {
			if status.Load() == idle {
				w.outside.Add(1)
			} else {
				w.within.Add(1)
			}
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return err
		}
	}
}

// answers passes on what the server says, a message at a time: a type, a
// length that counts itself, and the rest. A message counts before the client
// can have read it, so that the counter is never behind the test.
func (w *Wire) answers(client io.Writer, server io.Reader, status *atomic.Int32) error {
	const readyForQuery = 'Z'
	started := false
	var head [5]byte
	for {
		if _, err := io.ReadFull(server, head[:]); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return err
		}
		if head[0] == readyForQuery {
			status.Store(int32(body[0]))
			if started {
				w.trips.Add(1)
			}
			started = true
		}
		if _, err := client.Write(append(head[:], body...)); err != nil {
			return err
		}
	}
}
