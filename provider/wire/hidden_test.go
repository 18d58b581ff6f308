package wire_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider/wire"
)

const canary = "canary"

// An error is kept as an attempt's cause and is logged. Addresses hold tokens,
// and what a server says may hold all that it was sent.
func TestAnErrorQuotesNeitherAddressNorServer(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(s *scene){
		"the name does not resolve": func(s *scene) { s.url = "http://nobody.invalid" },
		"the connection is refused": func(s *scene) { s.url = "http://" + nobody },
		"the server speaks no TLS": func(s *scene) {
			s.http(nothing)
			s.url = strings.Replace(s.url, "http:", "https:", 1)
		},
		"the certificate is not trusted": func(s *scene) { s.https(nothing) },
		"the stream is reset": func(s *scene) {
			s.sender.Client = s.https(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }).Client()
		},
		"closed":                   func(s *scene) { s.raw(says("")) },
		"reset":                    func(s *scene) { s.raw(func(c net.Conn, _ arrival) bool { reset(c); return false }) },
		"over while dialing":       func(s *scene) { s.dialsForever(never); s.until(time.Now().Add(time.Millisecond)) },
		"over for the client":      func(s *scene) { s.dialsForever(never); s.sender.Client.Timeout = time.Millisecond },
		"the body is cut":          func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncanary")) },
		"the body is too long":     func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\n\r\ncanary")); s.sender.MaxBody = 1 },
		"a status":                 func(s *scene) { s.raw(says("HTTP/1.1 500 canary\r\n\r\ncanary")) },
		"a status of its own":      func(s *scene) { s.raw(says("HTTP/1.1 599 canary\r\n\r\ncanary")) },
		"a redirect":               func(s *scene) { s.raw(says("HTTP/1.1 302 canary\r\nLocation: /canary\r\n\r\n")) },
		"a redirect to no address": func(s *scene) { s.raw(says("HTTP/1.1 302 Found\r\nLocation: /%zz?key=canary\r\n\r\n")) },
		"an echo": func(s *scene) {
			s.url = "http://" + serveConns(s.T, func(c net.Conn) { io.Copy(c, c) })
		},
		"an output without headers": func(s *scene) { s.raw(says("{\"answer\":\"canary\"}\r\n")) },
		"an output in the headers":  func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\n{\"canary\"}\r\n\r\n")) },
		"an output in the trailer": func(s *scene) {
			s.raw(says(chunked + "2\r\nok\r\n0\r\n{\"canary\"}\r\n\r\n"))
		},
		"a bad length": func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Length: canary\r\n\r\n")) },
		"a bad code":   func(s *scene) { s.raw(says("HTTP/1.1 canary OK\r\n\r\n")) },
		"a client within the client": func(s *scene) {
			inner := s.sender.Client // as the ones are that fetch a token first
			s.sender.Client = &http.Client{Transport: silent(func(r *http.Request) (*http.Response, error) {
				return inner.Get("http://" + nobody + "/canary?token=canary")
			})}
			s.url = "http://" + nobody
		},
		"a client within the client that tells more": func(s *scene) {
			inner := s.sender.Client
			s.sender.Client = &http.Client{Transport: silent(func(r *http.Request) (*http.Response, error) {
				_, err := inner.Get("http://" + nobody + "/canary?token=canary")
				return nil, fmt.Errorf("no token: %w", err)
			})}
			s.url = "http://" + nobody
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			set(s)
			url := strings.Replace(s.url, "://", "://user:canary@", 1) + "/v1/canary?token=canary#canary"
			for _, req := range []*http.Request{post(t, url), get(t, url)} {
				_, _, err := s.sender.Send(req.WithContext(s.ctx))
				require.Error(t, err)
				require.NotContains(t, err.Error(), canary)
			}
		})
	}
}

// Errors can still be asked what they are.
func TestAnErrorKeepsItsType(t *testing.T) {
	t.Parallel()
	var sender wire.Sender
	_, _, err := sender.Send(get(t, "http://"+nobody))
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "dial", op.Op)
}
