package wire

import (
	"errors"
	"net/http"
	"strings"
)

var errInvalid = errors.New("the request cannot be sent: its address, its method or a header is not valid")

// valid is false for what net/http would refuse before it looks for a
// connection, such as a token that was read with the newline after it.
func valid(req *http.Request) bool {
	if req.URL == nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return false
	}
	if req.Method != "" && !token(req.Method) {
		return false
	}
	for name, values := range req.Header {
		if !token(name) {
			return false
		}
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return false
			}
		}
	}
	return true
}

// token tells whether s may be a method or a header's name: RFC 9110, 5.6.2.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
