package wire_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
)

func never() {}

// A context that ended is a doubt wherever it did so: the attempt's may have
// ended too.
func TestAContextThatEndsLeavesADoubt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		requests int
		set      func(s *scene, cancel func())
	}{
		"canceled before sending": {0, func(s *scene, cancel func()) { s.raw(says(ok)); cancel() }},
		"over before sending":     {0, func(s *scene, _ func()) { s.raw(says(ok)); s.until(time.Time{}) }},
		"canceled while dialing":  {0, func(s *scene, cancel func()) { s.dialsForever(cancel) }},
		"over while dialing": {0, func(s *scene, _ func()) {
			s.dialsForever(never)
			s.until(time.Now().Add(10 * time.Millisecond))
		}},
		"over for the client while dialing": {0, func(s *scene, _ func()) {
			s.dialsForever(never)
			s.sender.Client.Timeout = 10 * time.Millisecond
		}},
		"canceled while shaking hands": {0, func(s *scene, cancel func()) {
			s.url = "https://" + serveConns(s.T, func(c net.Conn) { cancel(); io.Copy(io.Discard, c) })
		}},
		"canceled before the answer": {1, func(s *scene, cancel func()) {
			s.raw(func(net.Conn, arrival) bool { cancel(); return true })
		}},
		"canceled in the body": {1, func(s *scene, cancel func()) {
			s.raw(func(c net.Conn, _ arrival) bool {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
				cancel()
				return true
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.ctx = ctx
			row.set(s, cancel)
			s.require(provider.Unknown, row.requests)
		})
	}
}

// What net/http returns then is the cause, and no error of package context.
func TestAContextThatEndsForACauseOfItsOwnLeavesADoubt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		requests int
		set      func(s *scene, cancel func())
	}{
		"before sending": {0, func(s *scene, cancel func()) { s.raw(says(ok)); cancel() }},
		"while dialing":  {0, func(s *scene, cancel func()) { s.dialsForever(cancel) }},
		"while waiting":  {1, func(s *scene, cancel func()) { s.raw(func(net.Conn, arrival) bool { cancel(); return true }) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s.ctx = ctx
			row.set(s, func() { cancel(io.ErrClosedPipe) })
			_, err := s.require(provider.Unknown, row.requests)
			require.ErrorIs(t, err, io.ErrClosedPipe)
		})
	}
}

// Whether the server has read the request by then does not matter.
func TestADeadlineWhileTheServerHangsLeavesADoubt(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(s *scene){
		"the context's": func(s *scene) { s.until(time.Now().Add(50 * time.Millisecond)) },
		"the client's":  func(s *scene) { s.sender.Client.Timeout = 50 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.raw(func(net.Conn, arrival) bool { return true })
			set(s)
			_, verdict, err := s.sender.Send(post(t, s.url).WithContext(s.ctx))
			require.Equal(t, provider.Unknown, verdict)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.LessOrEqual(t, int(s.seen.Load()), 1)
		})
	}
}
