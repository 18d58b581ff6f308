package wire

import (
	"errors"
	"net/url"
)

// hidden takes the address out of a client's error: it may hold a token, and
// the error is kept as an attempt's cause.
func hidden(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
