package wire_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// The frames of HTTP/2 that a server needs to refuse by hand, which the one of
// net/http never does. See RFC 9113, section 6.
const (
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameGoAway   = 7

	flagAck       = 1 // of settings
	flagEndStream = 1
	flagEndHeads  = 4

	codeNone          = 0
	codeInternal      = 2
	codeRefusedStream = 7

	prefaceLength = 24
)

// refusal says of a stream that it was not processed.
type refusal func(c net.Conn, stream uint32)

func refusedStream(c net.Conn, stream uint32) { resetStream(c, stream, codeRefusedStream) }

// goingAway names the stream before as the last that was processed.
func goingAway(c net.Conn, stream uint32) {
	writeFrame(c, frameGoAway, 0, 0, uint32s(stream-2, codeNone))
}

func resetStream(c net.Conn, stream, code uint32) {
	writeFrame(c, frameReset, 0, stream, uint32s(code))
}

func uint32s(values ...uint32) (p []byte) {
	for _, v := range values {
		p = binary.BigEndian.AppendUint32(p, v)
	}
	return p
}

func writeFrame(c net.Conn, kind, flags byte, stream uint32, payload []byte) {
	head := uint32s(uint32(len(payload))<<8 | uint32(kind))
	c.Write(append(append(append(head, flags), uint32s(stream)...), payload...))
}

// serveHTTP2 answers the first request, refuses the second, and resets all that
// come after. It returns the address and the number of requests so far.
func serveHTTP2(t *testing.T, refuse refusal) (string, *atomic.Int32) {
	t.Helper()
	seen, total := new(atomic.Int32), new(atomic.Int32)
	address := serveConns(t, func(c net.Conn) {
		if _, err := io.CopyN(io.Discard, c, prefaceLength); err != nil {
			return
		}
		writeFrame(c, frameSettings, 0, 0, nil)
		head := make([]byte, 9)
		for {
			if _, err := io.ReadFull(c, head); err != nil {
				return
			}
			length, kind, flags := int64(head[0])<<16|int64(head[1])<<8|int64(head[2]), head[3], head[4]
			stream := binary.BigEndian.Uint32(head[5:])
			if _, err := io.CopyN(io.Discard, c, length); err != nil {
				return
			}
			switch {
			case kind == frameSettings && flags&flagAck == 0:
				writeFrame(c, frameSettings, flagAck, 0, nil)
			case kind == frameHeaders:
				seen.Add(1)
				switch total.Add(1) {
				case 1:
					writeFrame(c, frameHeaders, flagEndStream|flagEndHeads, stream, []byte{0x88}) // :status: 200
				case 2:
					refuse(c, stream)
				default:
					resetStream(c, stream, codeInternal)
				}
			}
		}
	})
	return address, seen
}

func newHTTP2Client(t *testing.T) *http.Client {
	t.Helper()
	client := newClient(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client.Transport.(*http.Transport).Protocols = protocols
	return client
}
