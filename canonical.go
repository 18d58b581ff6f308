package onejob

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects may nest.
const maxDepth = 64

// canonicalJSON rewrites a JSON text so that texts which mean the same become
// the same bytes: names sorted bytewise at every level, white space dropped,
// strings encoded one way. Number literals stay as written: RFC 8785 would
// round 9007199254740993 to …992, and a false match is silent where a false
// conflict is visible.
//
// encoding/json cannot serve: it takes duplicate names, invalid UTF-8 and
// lone surrogates and maps each to some value. Here they are refused.
func canonicalJSON(text []byte) ([]byte, error) {
	p := canonicalizer{in: text, out: make([]byte, 0, len(text))}
	p.space()
	if rule := p.value(0); rule != "" {
		return nil, p.fail(rule)
	}
	p.space()
	if p.pos < len(p.in) {
		return nil, p.fail("has data after the JSON value")
	}
	return p.out, nil
}

type canonicalizer struct {
	in, out []byte
	pos     int
}

// fail names the rule and the place, never the text.
func (p *canonicalizer) fail(rule string) error {
	return invalid("Intent.Params", rule+" (at byte "+strconv.Itoa(p.pos)+")")
}

const notJSON = "must be valid JSON, or set Opaque"

func (p *canonicalizer) peek() byte {
	if p.pos < len(p.in) {
		return p.in[p.pos]
	}
	return 0
}

func (p *canonicalizer) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// value copies one value; depth counts the arrays and objects around it. Like
// all that follow it returns the rule that was broken, or "".
func (p *canonicalizer) value(depth int) string {
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if depth == maxDepth {
			return "nests deeper than " + strconv.Itoa(maxDepth) + " levels"
		}
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true")
	case c == 'f':
		return p.literal("false")
	case c == 'n':
		return p.literal("null")
	}
	return notJSON
}

func (p *canonicalizer) literal(word string) string {
	if len(p.in)-p.pos < len(word) || string(p.in[p.pos:p.pos+len(word)]) != word {
		return notJSON
	}
	p.pos += len(word)
	p.out = append(p.out, word...)
	return ""
}

func (p *canonicalizer) number() string {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	switch c := p.peek(); {
	case c == '0':
		p.pos++
	case !p.digits():
		return notJSON
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return notJSON
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return notJSON
		}
	}
	p.out = append(p.out, p.in[start:p.pos]...)
	return ""
}

// digits passes over one or more digits.
func (p *canonicalizer) digits() bool {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

func (p *canonicalizer) array(depth int) string {
	return p.list(']', func() string { return p.value(depth) })
}

// list copies '[' or '{', the items with their commas, and end.
func (p *canonicalizer) list(end byte, item func() string) string {
	p.out = append(p.out, p.in[p.pos])
	p.pos++
	p.space()
	for first := true; p.peek() != end; first = false {
		if !first {
			if p.peek() != ',' {
				return notJSON
			}
			p.pos++
			p.out = append(p.out, ',')
			p.space()
		}
		if rule := item(); rule != "" {
			return rule
		}
		p.space()
	}
	p.pos++
	p.out = append(p.out, end)
	return ""
}

// member is where a member of an object stands in out: name and value.
type member struct{ start, colon, end int }

func (p *canonicalizer) object(depth int) string {
	var few [16]member
	members := few[:0]
	begin := len(p.out) + 1
	rule := p.list('}', func() string {
		m := member{start: len(p.out)}
		if p.peek() != '"' {
			return notJSON
		}
		if rule := p.str(); rule != "" {
			return rule
		}
		m.colon = len(p.out)
		p.space()
		if p.peek() != ':' {
			return notJSON
		}
		p.pos++
		p.out = append(p.out, ':')
		p.space()
		if rule := p.value(depth); rule != "" {
			return rule
		}
		m.end = len(p.out)
		members = append(members, m)
		return ""
	})
	if rule != "" {
		return rule
	}
	return p.sortMembers(begin, members)
}

// sortMembers puts the members that begin at out[begin] in order. Names are
// compared as encoded without their closing quote, which for one way of
// encoding is a total order, and equal only if the names are.
func (p *canonicalizer) sortMembers(begin int, members []member) string {
	if len(members) < 2 {
		return ""
	}
	old := p.out[begin:]
	name := func(m member) []byte { return old[m.start-begin : m.colon-begin-1] }
	byName := func(a, b member) int { return bytes.Compare(name(a), name(b)) }
	sorted := slices.IsSortedFunc(members, byName)
	if !sorted {
		slices.SortFunc(members, byName)
	}
	for i, m := range members[1:] {
		if byName(members[i], m) == 0 {
			return "holds an object with a name twice"
		}
	}
	if sorted {
		return "" // as they stand
	}
	old = slices.Clone(old) // of this object alone: there may be thousands
	p.out = p.out[:begin]
	for i, m := range members {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, old[m.start-begin:m.end-begin]...)
	}
	p.out = append(p.out, '}')
	return ""
}

// str decodes a string and encodes it again: as UTF-8, with escapes for the
// quote, the backslash and the control characters only.
func (p *canonicalizer) str() string {
	p.pos++
	p.out = append(p.out, '"')
	for {
		c := p.peek()
		switch {
		case p.pos == len(p.in) || c < 0x20:
			return notJSON
		case c == '"':
			p.pos++
			p.out = append(p.out, '"')
			return ""
		case c == '\\':
			r, rule := p.escape()
			if rule != "" {
				return rule
			}
			p.encode(r)
		case c < utf8.RuneSelf:
			p.plain()
		default:
			r, size := utf8.DecodeRune(p.in[p.pos:])
			if r == utf8.RuneError && size == 1 {
				return "must be valid UTF-8"
			}
			p.out = append(p.out, p.in[p.pos:p.pos+size]...)
			p.pos += size
		}
	}
}

// plain copies what stands for itself, as far as it goes.
func (p *canonicalizer) plain() {
	start := p.pos
	for c := p.peek(); c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\'; c = p.peek() {
		p.pos++
	}
	p.out = append(p.out, p.in[start:p.pos]...)
}

func (p *canonicalizer) encode(r rune) {
	switch {
	case r == '"' || r == '\\':
		p.out = append(p.out, '\\', byte(r))
	case r < 0x20:
		const hex = "0123456789abcdef"
		p.out = append(p.out, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
	default:
		p.out = utf8.AppendRune(p.out, r)
	}
}

// escape reads one escape sequence; of surrogates it takes both halves.
func (p *canonicalizer) escape() (rune, string) {
	p.pos++
	c := p.peek()
	p.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), ""
	case 'b':
		return '\b', ""
	case 'f':
		return '\f', ""
	case 'n':
		return '\n', ""
	case 'r':
		return '\r', ""
	case 't':
		return '\t', ""
	case 'u':
		return p.unicode()
	}
	return 0, notJSON
}

func (p *canonicalizer) unicode() (rune, string) {
	const lone = "holds half of a surrogate pair"
	r, ok := p.hex4()
	if !ok {
		return 0, notJSON
	}
	if !utf16.IsSurrogate(r) {
		return r, ""
	}
	if p.peek() != '\\' || p.pos+1 >= len(p.in) || p.in[p.pos+1] != 'u' {
		return 0, lone
	}
	p.pos += 2
	low, ok := p.hex4()
	if !ok {
		return 0, notJSON
	}
	r = utf16.DecodeRune(r, low)
	if r == utf8.RuneError {
		return 0, lone
	}
	return r, ""
}

func (p *canonicalizer) hex4() (rune, bool) {
	var r rune
	for range 4 {
		c := p.peek()
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		p.pos++
		r = r<<4 | rune(c)
	}
	return r, true
}
