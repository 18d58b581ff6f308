package idempotency

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
)

// recorder keeps a handler's response until it is stored. What the handler
// streams, or makes longer than may be replayed, goes to the client at once and
// is not kept.
type recorder struct {
	w      http.ResponseWriter
	outer  http.Header // what stood there before the handler
	header http.Header // the handler's, with those
	head   http.Header // header as it was when the status was written
	limit  int
	status int
	body   bytes.Buffer
	sent   bool // the head has gone to the client
	over   bool // the handler has returned
}

func newRecorder(w http.ResponseWriter, limit int) *recorder {
	return &recorder{w: w, outer: w.Header().Clone(), header: w.Header().Clone(), limit: limit}
}

var errOver = errors.New("idempotency: the handler has returned, and its response is stored")

// Header is the handler's own, until it is sent.
func (r *recorder) Header() http.Header {
	if r.sent {
		return r.w.Header()
	}
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

func (r *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status)) // as net/http, and before it is stored
	}
	switch {
	case r.sent || r.over || r.status != 0:
	case status < 200 && status != http.StatusSwitchingProtocols:
		r.show(r.Header())
		r.w.WriteHeader(status)
		r.show(r.outer)
	default:
		r.status, r.head = status, r.Header().Clone()
		if status == http.StatusSwitchingProtocols || len(r.head["Trailer"]) > 0 {
			_ = r.send(true) // the handler meets the error when it writes
		}
	}
}

// show makes the client's headers these.
func (r *recorder) show(h http.Header) {
	to := r.w.Header()
	clear(to)
	maps.Copy(to, h)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.over {
		return 0, errOver
	}
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if !r.sent && r.body.Len()+len(p) > r.limit {
		if err := r.send(true); err != nil {
			return 0, err
		}
	}
	if r.sent {
		return r.w.Write(p)
	}
	return r.body.Write(p)
}

// send lets what was kept go to the client, and where more is to come all the
// rest.
func (r *recorder) send(more bool) error {
	if r.sent {
		return nil
	}
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.sent = true
	if !more && r.head.Get("Content-Length") != "" {
		// The handler may have announced another length than it wrote.
		r.head.Set("Content-Length", strconv.Itoa(r.body.Len()))
	}
	r.show(r.head)
	r.w.WriteHeader(r.status)
	_, err := r.w.Write(r.body.Bytes())
	return err
}

// FlushError is how a handler streams.
func (r *recorder) FlushError() error {
	if r.over {
		return errOver
	}
	if err := r.send(true); err != nil {
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

// kept are the headers of the response that are replayed: of those on the list
// the handler's own. What stood there before it will stand there again.
func (r *recorder) kept(list map[string]bool) http.Header {
	kept := http.Header{}
	for name, values := range r.head {
		if list[name] && !slices.Equal(values, r.outer[name]) {
			kept[name] = values
		}
	}
	return kept
}
