package storetest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stretchr/testify/require"
)

// actsAndDies returns what a client gets from a real server that counts the
// request and then dies of it.
func actsAndDies(h *harness, http2 bool, want error) error {
	h.Helper()
	var acted, version atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		acted.Add(1)
		version.Store(int32(r.ProtoMajor))
		if http2 {
			panic(http.ErrAbortHandler)
		}
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			if want == syscall.ECONNRESET {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			_ = conn.Close()
		}
	}))
	srv.EnableHTTP2 = http2
	if http2 {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	defer srv.Close()
	err := post(h, srv.Client().Transport, srv.URL)
	require.EqualValues(h, 1, acted.Load(), "the server must have acted once")
	if http2 {
		require.EqualValues(h, 2, version.Load())
		require.ErrorContains(h, err, "stream error")
	} else {
		require.ErrorIs(h, err, want)
	}
	return err
}

// untrustedCertificate is what a client gets that does not trust the server.
func untrustedCertificate(h *harness) error {
	h.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	return post(h, &http.Transport{}, srv.URL)
}

// post returns the error of a request that gets no answer.
func post(h *harness, transport http.RoundTripper, address string) error {
	h.Helper()
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(h.ctx, http.MethodPost, address, strings.NewReader("{}"))
	require.NoError(h, err)
	res, err := client.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	require.Error(h, err)
	return err
}

// nobodyListens returns an address of this machine at which nobody listens any
// more.
func nobodyListens(h *harness) string {
	h.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h, err)
	require.NoError(h, l.Close())
	return l.Addr().String()
}

func dialUnder(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err
}
