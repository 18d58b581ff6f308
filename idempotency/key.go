package idempotency

import (
	"errors"
	"net/http"
	"strings"
)

const (
	keyHeader = "Idempotency-Key"
	maxKey    = 255
)

var (
	errKeyMissing   = errors.New("the header is missing")
	errKeyMalformed = errors.New("the header is no string of RFC 9651, such as \"8e03978e-40d5-43dd-bc93-6894a57f9324\", in quotation marks")
	errKeyLong      = errors.New("the key is longer than 255 bytes")
)

// keyOf reads the one key of a request. Header.Get would hide a second line.
func keyOf(h http.Header, strict bool) (string, error) {
	values := h.Values(keyHeader)
	switch len(values) {
	case 0:
		return "", errKeyMissing
	case 1:
	default:
		return "", errKeyMalformed
	}
	key, err := parseKey(strings.Trim(values[0], " \t"), strict)
	switch {
	case err != nil:
		return "", err
	case len(key) > maxKey:
		return "", errKeyLong
	}
	return key, nil
}

// parseKey takes an item of RFC 9651 that is a string, with parameters, which
// mean nothing; and a bare key, as most clients send it.
func parseKey(text string, strict bool) (string, error) {
	key, rest, ok := quoted(text)
	if !ok && !strict {
		key, rest, ok = bare(text)
	}
	if !ok || key == "" || !parameters(rest) {
		return "", errKeyMalformed
	}
	return key, nil
}

// quoted reads a string in quotation marks, in which only these and the
// backslash are escaped.
func quoted(text string) (key, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\':
			if i++; i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", "", false
			}
			b.WriteByte(text[i])
		case c < 0x20 || c > 0x7e:
			return "", "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// bare reads a key without quotation marks. What would be an item of another
// type is not one: a number, a boolean, bytes, a date, an inner list. Nor is one
// with a semicolon: whether what follows is a parameter or the rest of the key
// only its sender knows.
func bare(text string) (key, rest string, ok bool) {
	key = text
	if key == "" || strings.IndexByte(`?:(@%`, key[0]) >= 0 || number(key) {
		return "", "", false
	}
	for i := range len(key) {
		if c := key[i]; c <= 0x20 || c > 0x7e || strings.IndexByte(`";,\()`, c) >= 0 {
			return "", "", false
		}
	}
	return key, "", true
}

func number(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits, dots := 0, 0
	for i := range len(s) {
		switch {
		case s[i] >= '0' && s[i] <= '9':
			digits++
		case s[i] == '.':
			dots++
		default:
			return false
		}
	}
	return digits > 0 && dots <= 1
}

// parameters reports whether text is parameters alone.
func parameters(text string) bool {
	for text != "" {
		if text[0] != ';' {
			return false
		}
		text = strings.TrimLeft(text[1:], " ")
		n := 0
		for n < len(text) && (text[n] >= 'a' && text[n] <= 'z' || text[n] == '*' || n > 0 && (text[n] >= '0' && text[n] <= '9' ||
			strings.IndexByte("_-.", text[n]) >= 0)) {
			n++
		}
		if n == 0 {
			return false
		}
		if text = text[n:]; strings.HasPrefix(text, "=") {
			var ok bool
			if text, ok = parameterValue(text[1:]); !ok {
				return false
			}
		}
	}
	return true
}

// parameterValue skips a string, or a word of another type.
func parameterValue(text string) (rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		_, rest, ok = quoted(text)
		return rest, ok
	}
	n := 0
	for n < len(text) && text[n] > 0x20 && text[n] < 0x7f && strings.IndexByte(`";,`, text[n]) < 0 {
		n++
	}
	return text[n:], n > 0
}
