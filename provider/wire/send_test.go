package wire_test

import (
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
)

func nothing(http.ResponseWriter, *http.Request) {}

func TestWithoutAConnectionNothingHasStarted(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		requests int
		set      func(s *scene)
	}{
		"the name does not resolve": {0, func(s *scene) { s.url = "http://nobody.invalid/" }},
		"the connection is refused": {0, func(s *scene) { s.url = "http://" + nobody }},
		"the proxy is not there":    {0, func(s *scene) { s.url = "https://nobody.invalid/"; s.proxy(nobody) }},
		"the proxy does not connect": {1, func(s *scene) { // it is asked to, but for the request it is too early
			s.raw(says("HTTP/1.1 502 Bad Gateway\r\n\r\n"))
			s.proxy(strings.TrimPrefix(s.url, "http://"))
			s.url = "https://nobody.invalid/"
		}},
		"the server speaks no TLS": {0, func(s *scene) {
			s.http(nothing)
			s.url = strings.Replace(s.url, "http:", "https:", 1)
		}},
		"the certificate is not trusted": {0, func(s *scene) { s.https(nothing) }},
		"the certificate is another's": {0, func(s *scene) {
			trusting := s.https(nothing).Client().Transport.(*http.Transport)
			s.transport.TLSClientConfig = trusting.TLSClientConfig.Clone()
			s.transport.TLSClientConfig.ServerName = "nobody.invalid"
		}},
		"the server leaves the handshake": {0, func(s *scene) {
			s.url = "https://" + serveConns(s.T, func(c net.Conn) { c.Read(make([]byte, 1)) })
		}},
		"the handshake takes too long": {0, func(s *scene) {
			s.url = "https://" + serveConns(s.T, func(c net.Conn) { io.Copy(io.Discard, c) })
			s.transport.TLSHandshakeTimeout = time.Millisecond
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			row.set(s)
			s.require(provider.NotStarted, row.requests)
		})
	}
}

// Whatever is wrong with the exchange once there was a connection: the server
// may have acted.
func TestAnExchangeThatBreaksLeavesADoubt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		requests int
		set      func(s *scene)
	}{
		"closes before reading": {0, func(s *scene) { s.url = "http://" + serveConns(s.T, func(net.Conn) {}) }},
		"resets while reading": {0, func(s *scene) {
			s.url = "http://" + serveConns(s.T, func(c net.Conn) { c.Read(make([]byte, 1)); reset(c) })
		}},
		"closes after reading":  {1, func(s *scene) { s.raw(says("")) }},
		"resets after reading":  {1, func(s *scene) { s.raw(func(c net.Conn, _ arrival) bool { reset(c); return false }) }},
		"closes in the status":  {1, func(s *scene) { s.raw(says("HTTP/1.1 20")) }},
		"closes in the headers": {1, func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Le")) }},
		"refuses in headers that end early": {1, func(s *scene) {
			s.raw(says("HTTP/1.1 429 Too Many Requests\r\nContent-Le"))
		}},
		"says that it goes on, and does not": {1, func(s *scene) { s.raw(says("HTTP/1.1 100 Continue\r\n\r\n")) }},
		"speaks another protocol":            {1, func(s *scene) { s.raw(says("220 mail.example.com ESMTP\r\n")) }},
		"has a bad length":                   {1, func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok")) }},
		"redirects to no address": {1, func(s *scene) {
			s.raw(says("HTTP/1.1 302 Found\r\nLocation: %zz\r\nContent-Length: 0\r\n\r\n"))
		}},
		"cuts the body":             {1, func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) }},
		"cuts the body before it":   {1, func(s *scene) { s.raw(says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")) }},
		"cuts a chunk":              {1, func(s *scene) { s.raw(says(chunked + "9\r\nhalf")) }},
		"cuts between chunks":       {1, func(s *scene) { s.raw(says(chunked + "4\r\nhalf\r\n")) }},
		"cuts before the last line": {1, func(s *scene) { s.raw(says(chunked + "4\r\nhalf\r\n0\r\n")) }},
		"has a bad chunk":           {1, func(s *scene) { s.raw(says(chunked + "4\r\nhalf\r\nnext\r\n")) }},
		"resets in the body": {1, func(s *scene) {
			s.raw(func(c net.Conn, _ arrival) bool {
				io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhalf")
				reset(c)
				return false
			})
		}},
		"compresses nothing": {1, func(s *scene) {
			s.raw(says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			row.set(s)
			s.require(provider.Unknown, row.requests)
		})
	}
}

const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestWhatCameOfABodyIsKeptBesideTheDoubt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.raw(says("HTTP/1.1 200 OK\r\nX-Request-Id: req-1\r\nContent-Length: 9\r\n\r\nhalf"))
	answer, err := s.require(provider.Unknown, 1)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, http.StatusOK, answer.Status)
	require.Equal(t, "half", string(answer.Body))
	require.Equal(t, "req-1", answer.Header.Get("X-Request-Id"))
}

func TestABodyMayBeAsLongAsMaxBody(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		most int64
		want provider.Verdict
		body string
	}{
		"shorter":      {3, provider.Done, "ok"},
		"as long":      {2, provider.Done, "ok"},
		"longer":       {1, provider.Unknown, "o"},
		"the default":  {0, provider.Done, "ok"},
		"negative":     {-1, provider.Done, "ok"},
		"all there is": {math.MaxInt64, provider.Done, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.raw(says(ok))
			s.sender.MaxBody = row.most
			answer, _ := s.require(row.want, 1)
			require.Equal(t, row.body, string(answer.Body))
		})
	}
}

func TestABodyOfMoreThan16MiBIsADoubtByDefault(t *testing.T) {
	t.Parallel()
	const most = 16 << 20
	s := newScene(t)
	s.http(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, most+1)) })
	answer, _ := s.require(provider.Unknown, 1)
	require.Len(t, answer.Body, most)
}

// What net/http refuses by itself never left this process.
func TestARequestThatCannotBeSentHasNotStarted(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(r *http.Request){
		"a token that ends in a newline": func(r *http.Request) { r.Header.Set("Authorization", "Bearer canary\n") },
		"a header without a name":        func(r *http.Request) { r.Header[""] = []string{"x"} },
		"no host":                        func(r *http.Request) { r.URL.Host = "" },
		"another scheme":                 func(r *http.Request) { r.URL.Scheme = "ftp" },
		"no method of HTTP":              func(r *http.Request) { r.Method = "PO ST" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.raw(says(ok))
			req := post(t, s.url)
			spoil(req)
			_, verdict, err := s.sender.Send(req)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "canary")
			require.Zero(t, s.seen.Load())
			require.Equal(t, provider.NotStarted, verdict, "%v", err)
		})
	}
}
