package idempotency

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
)

// recorder keeps a handler's response until it is stored. What the handler
// streams, or makes longer than may be replayed, goes to the client at once and
// is not kept.
type recorder struct {
	w      http.ResponseWriter
	header http.Header
	limit  int
	status int
	body   bytes.Buffer
	sent   bool // the head has gone to the client
}

func newRecorder(w http.ResponseWriter, limit int) *recorder {
	return &recorder{w: w, header: http.Header{}, limit: limit}
}

// Header is the handler's own, until it is sent.
func (r *recorder) Header() http.Header {
	if r.sent {
		return r.w.Header()
	}
	return r.header
}

func (r *recorder) WriteHeader(status int) {
	switch {
	case r.sent || r.status != 0:
	case status >= 100 && status < 200 && status != http.StatusSwitchingProtocols:
		for name, values := range r.header {
			r.w.Header()[name] = values
		}
		r.w.WriteHeader(status)
		for name := range r.header {
			r.w.Header().Del(name)
		}
	default:
		r.status = status
		if status == http.StatusSwitchingProtocols {
			r.send()
		}
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if !r.sent && r.body.Len()+len(p) > r.limit {
		if err := r.send(); err != nil {
			return 0, err
		}
	}
	if r.sent {
		return r.w.Write(p)
	}
	return r.body.Write(p)
}

// send lets what was kept go to the client, and from now on all the rest.
func (r *recorder) send() error {
	if r.sent {
		return nil
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.sent = true
	for name, values := range r.header {
		r.w.Header()[name] = values
	}
	r.w.WriteHeader(r.status)
	_, err := r.w.Write(r.body.Bytes())
	return err
}

// FlushError is how a handler streams.
func (r *recorder) FlushError() error {
	if err := r.send(); err != nil {
		return err
	}
	return http.NewResponseController(r.w).Flush()
}

// Flush is FlushError for older handlers.
func (r *recorder) Flush() { _ = r.FlushError() }

// Hijack hands the connection over; the response is the handler's own.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.w).Hijack()
	if err == nil {
		r.sent = true
		if r.status == 0 {
			r.status = http.StatusSwitchingProtocols
		}
	}
	return conn, rw, err
}

// Unwrap is for http.ResponseController: deadlines are the connection's.
func (r *recorder) Unwrap() http.ResponseWriter { return r.w }
