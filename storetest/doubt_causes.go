package storetest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/onejob-go/onejob"
)

// doubtCause is an error that a call may return, and what it makes of the
// attempt.
type doubtCause struct {
	name string
	want onejob.State
	make func(h *harness) error
}

var errRefused = errors.New("the provider refused")

var doubtCauses = []doubtCause{
	// A context that ends stops the waiting, not the provider.
	{"canceled", onejob.StateUnknown, as(context.Canceled)},
	{"deadline exceeded", onejob.StateUnknown, as(context.DeadlineExceeded)},
	{"canceled, wrapped three deep", onejob.StateUnknown, as(threeDeep(context.Canceled))},
	{"deadline exceeded, wrapped three deep", onejob.StateUnknown, as(threeDeep(context.DeadlineExceeded))},
	{"canceled with a cause", onejob.StateUnknown, func(h *harness) error {
		ctx, cancel := context.WithCancelCause(h.ctx)
		cancel(errors.New("the client hung up"))
		return context.Cause(ctx)
	}},
	{"canceled with a cause, and the context's error", onejob.StateUnknown, func(h *harness) error {
		ctx, cancel := context.WithCancelCause(h.ctx)
		cancel(onejob.NoEffect(errors.New("the client hung up")))
		return fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
	}},
	{"timeout of a type of its own", onejob.StateUnknown, as(timeoutError{})},
	{"i/o timeout", onejob.StateUnknown, as(&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded})},

	// net/http wraps what it gets; the wrapping proves nothing.
	{"url.Error of canceled", onejob.StateUnknown, as(posting(context.Canceled))},
	{"url.Error of deadline exceeded", onejob.StateUnknown, as(posting(context.DeadlineExceeded))},
	{"url.Error of a timeout", onejob.StateUnknown, as(posting(timeoutError{}))},
	{"url.Error of EOF", onejob.StateUnknown, as(posting(io.EOF))},
	{"url.Error of a failure to dial", onejob.StateFailed, as(posting(dialing(syscall.ECONNREFUSED)))},

	// What a provider leaves that acted and then died, and what looks like it.
	{"HTTP/1 server acts and cuts the connection", onejob.StateUnknown, func(h *harness) error { return actsAndDies(h, false, io.EOF) }},
	{"HTTP/1 server acts and resets the connection", onejob.StateUnknown, func(h *harness) error { return actsAndDies(h, false, syscall.ECONNRESET) }},
	{"HTTP/2 server acts and resets the stream", onejob.StateUnknown, func(h *harness) error { return actsAndDies(h, true, nil) }},
	{"EOF", onejob.StateUnknown, as(io.EOF)},
	{"unexpected EOF", onejob.StateUnknown, as(io.ErrUnexpectedEOF)},
	{"connection reset", onejob.StateUnknown, as(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})},
	{"broken pipe", onejob.StateUnknown, as(&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)})},
	{"refused, while reading", onejob.StateUnknown, as(&net.OpError{Op: "read", Net: "udp", Err: os.NewSyscallError("read", syscall.ECONNREFUSED)})},
	{"refused, as a number alone", onejob.StateUnknown, as(syscall.ECONNREFUSED)},
	{"use of a closed connection", onejob.StateUnknown, as(net.ErrClosed)},
	{"a status with a code", onejob.StateUnknown, as(statusError(14))},
	{"an HTTP status", onejob.StateUnknown, as(errors.New("500 Internal Server Error"))},
	{"a text nobody can classify", onejob.StateUnknown, as(errors.New("no effect: connection refused"))},
	{"certificate that is not trusted", onejob.StateUnknown, untrustedCertificate},
	{"TLS record that is none", onejob.StateUnknown, as(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"})},

	// Nobody was asked: there was no connection.
	{"dial refused", onejob.StateFailed, func(h *harness) error {
		_, err := net.Dial("tcp", nobodyListens(h))
		return err
	}},
	{"dial refused, wrapped three deep", onejob.StateFailed, func(h *harness) error {
		_, err := net.Dial("tcp", nobodyListens(h))
		return threeDeep(err)
	}},
	{"dial refused to an HTTP client", onejob.StateFailed, func(h *harness) error {
		return post(h, &http.Transport{}, "http://"+nobodyListens(h))
	}},
	{"dial refused by a proxy", onejob.StateFailed, func(h *harness) error {
		proxy := &url.URL{Scheme: "http", Host: nobodyListens(h)}
		return post(h, &http.Transport{Proxy: http.ProxyURL(proxy)}, "http://provider.invalid")
	}},
	{"name not found", onejob.StateFailed, as(&net.DNSError{Err: "no such host", Name: "provider.invalid", IsNotFound: true})},
	{"name not found while dialing", onejob.StateFailed, as(dialing(&net.DNSError{Err: "no such host", Name: "provider.invalid", IsNotFound: true}))},
	{"name not found, to an HTTP client", onejob.StateFailed, as(posting(dialing(&net.DNSError{Err: "no such host", Name: "provider.invalid"})))},
	{"dial ended by its context's deadline", onejob.StateUnknown, func(h *harness) error {
		ctx, cancel := context.WithTimeout(h.ctx, 0)
		defer cancel()
		return dialUnder(ctx, nobodyListens(h))
	}},
	{"dial canceled", onejob.StateUnknown, func(h *harness) error {
		ctx, cancel := context.WithCancel(h.ctx)
		cancel()
		return dialUnder(ctx, nobodyListens(h))
	}},
	{"name not resolved before the context ended", onejob.StateUnknown, as(fmt.Errorf("%w: %w",
		&net.DNSError{Err: "operation was canceled", Name: "provider.invalid"}, context.Canceled))},

	// The host's own word.
	{"NoEffect", onejob.StateFailed, as(onejob.NoEffect(errRefused))},
	{"NoEffect, wrapped", onejob.StateFailed, as(fmt.Errorf("charging: %w", onejob.NoEffect(errRefused)))},
	{"NoEffect, wrapped three deep", onejob.StateFailed, as(threeDeep(onejob.NoEffect(errRefused)))},
	{"NoEffect of EOF", onejob.StateFailed, as(onejob.NoEffect(io.EOF))},
	{"NoEffect of canceled", onejob.StateUnknown, as(onejob.NoEffect(context.Canceled))},
	{"NoEffect of deadline exceeded, wrapped", onejob.StateUnknown, as(onejob.NoEffect(threeDeep(context.DeadlineExceeded)))},
	{"NoEffect of a dial that was canceled", onejob.StateUnknown, as(onejob.NoEffect(dialing(context.Canceled)))},

	// Of several errors each must prove it.
	{"NoEffect joined with EOF", onejob.StateUnknown, as(errors.Join(onejob.NoEffect(errRefused), io.EOF))},
	{"EOF joined with NoEffect", onejob.StateUnknown, as(errors.Join(io.EOF, onejob.NoEffect(errRefused)))},
	{"EOF, then a failure to dial", onejob.StateUnknown, as(errors.Join(posting(io.EOF), dialing(syscall.ECONNREFUSED)))},
	{"NoEffect joined with NoEffect", onejob.StateFailed, as(errors.Join(onejob.NoEffect(errRefused), onejob.NoEffect(errRefused)))},
	{"NoEffect joined with canceled", onejob.StateUnknown, as(errors.Join(onejob.NoEffect(errRefused), threeDeep(context.Canceled)))},
	{"NoEffect around a join", onejob.StateFailed, as(onejob.NoEffect(errors.Join(errRefused, io.EOF)))},
	{"two %w, both proven", onejob.StateFailed, as(fmt.Errorf("%w, after %w", dialing(syscall.ECONNREFUSED), onejob.NoEffect(errRefused)))},
	{"two %w, one proven", onejob.StateUnknown, as(fmt.Errorf("%w, after %w", onejob.NoEffect(errRefused), io.ErrUnexpectedEOF))},
	{"a join within a join", onejob.StateUnknown, as(errors.Join(onejob.NoEffect(errRefused), threeDeep(errors.Join(dialing(syscall.ECONNREFUSED), io.EOF))))},
}

func as(err error) func(*harness) error { return func(*harness) error { return err } }

func threeDeep(err error) error {
	return fmt.Errorf("charge: %w", fmt.Errorf("client: %w", fmt.Errorf("transport: %w", err)))
}

func posting(err error) error {
	return &url.Error{Op: "Post", URL: "https://provider.invalid/charges", Err: err}
}

func dialing(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// timeoutError is a timeout that is no context error.
type timeoutError struct{}

func (timeoutError) Error() string { return "the provider took too long" }
func (timeoutError) Timeout() bool { return true }

// statusError is like what gRPC clients return: the text of a failure to dial,
// which they also give to a request that was under way.
type statusError int

func (e statusError) Code() int { return int(e) }
func (e statusError) Error() string {
	return fmt.Sprintf("rpc error: code = %d desc = error while dialing: connection refused", int(e))
}
