package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// safe returns text that is made by strangers so that it can do nothing to a
// terminal and cannot pass for something else: what is not plainly printable is
// quoted as in Go, and nothing else begins with a quote. It is one line.
func safe(s string) string {
	if s == "" {
		return `""`
	}
	if strings.TrimSpace(s) != s || s[0] == '"' || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// printable reports whether s is valid and holds no control character, no mark
// of direction, nothing of no width, and no white space but U+0020.
func printable(s string) bool {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// cut shortens s for a column.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// clean makes a message harmless whose words are partly not ours: an error of
// the command line quotes what was typed, one of a driver what it likes.
func clean(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return redact(b.String())
}

var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(://).*(@)`), // up to the last @: a password may hold one
	regexp.MustCompile(`(?i)(password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|[^\s&]+)()`),
}

// redact takes passwords out: somebody may give the DSN where an ID belongs, and
// the message that says so goes to a terminal, a log, a chat.
func redact(text string) string {
	for _, secret := range secrets {
		text = secret.ReplaceAllString(text, "${1}…${2}")
	}
	return text
}

// asciiJSON escapes in JSON what safe would quote: a terminal that shows the
// document obeys a C1 control character as well as an escape.
func asciiJSON(doc []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case r < utf8.RuneSelf && r != 0x7f || strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}
