package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// hiddenError is a client's error whose text quotes neither the address, which
// may hold a token, nor the server, which may repeat all that it was sent: the
// text is kept as an attempt's cause. The error can still be asked what it is.
type hiddenError struct{ err error }

func hidden(err error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err // a transport that has a client of its own makes two
	}
	return hiddenError{err}
}

func (e hiddenError) Unwrap() error { return e.err }

// Error shows what is known to hold no text of others.
func (e hiddenError) Error() string {
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, http.ErrSchemeMismatch,
	} {
		if errors.Is(e.err, known) {
			return known.Error()
		}
	}
	var op *net.OpError
	if errors.As(e.err, &op) {
		return op.Error()
	}
	var cert *tls.CertificateVerificationError
	if errors.As(e.err, &cert) {
		return cert.Error()
	}
	return fmt.Sprintf("the exchange failed (%T)", e.err)
}
