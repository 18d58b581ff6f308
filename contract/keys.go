package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parse reads the one JSON value that output must be, with numbers as written.
func parse(output []byte) (any, *Violation) {
	if !utf8.Valid(output) {
		return nil, &Violation{Reason: ReasonNotJSON, Where: "it is not UTF-8"}
	}
	dec := json.NewDecoder(bytes.NewReader(output))
	dec.UseNumber()
	var v any
	switch err := dec.Decode(&v); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &Violation{Reason: ReasonCut}
	case err != nil:
		return nil, &Violation{Reason: ReasonNotJSON}
	}
	if len(bytes.TrimLeft(output[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, &Violation{Reason: ReasonTrailing}
	}
	return v, nil
}

// sane refuses numbers that no answer needs and whose exact value would take
// megabytes, or cannot be had at all: 1e10000000.
func sane(value any) bool {
	switch v := value.(type) {
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		n, err := strconv.Atoi(cmp.Or(exponent, "0"))
		return err == nil && n >= -maxExponent && n <= maxExponent && len(mantissa) <= maxDigits
	case []any:
		return !slices.ContainsFunc(v, func(inner any) bool { return !sane(inner) })
	case map[string]any:
		for _, inner := range v {
			if !sane(inner) {
				return false
			}
		}
	}
	return true
}

// A float64 has exponents up to 308 and 17 digits.
const (
	maxExponent = 1000
	maxDigits   = 1000
)

// duplicate walks the tokens of valid JSON: a map, and with it a schema, shows
// only the last of two equal keys.
func duplicate(output []byte) *Violation {
	dec := json.NewDecoder(bytes.NewReader(output))
	dec.UseNumber()
	type level struct {
		object, value bool // value: what comes next is one, not a key
		keys          map[string]bool
	}
	var open []level
	for {
		token, err := dec.Token()
		if err != nil {
			return nil // the end: it was parsed before
		}
		last := len(open) - 1
		if key, ok := token.(string); ok && last >= 0 && open[last].object && !open[last].value {
			if open[last].keys[key] {
				return &Violation{Reason: ReasonDuplicate, Where: "at depth " + strconv.Itoa(last)}
			}
			open[last].keys[key], open[last].value = true, true
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{object: true, keys: map[string]bool{}})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:last]
		}
		if last := len(open) - 1; last >= 0 {
			open[last].value = false
		}
	}
}

// topLevel looks for the exact keys. What it finds instead it names by the
// mistake that models make: a wrapper, or the schema itself.
func (c *Contract) topLevel(value any) *Violation {
	object, ok := value.(map[string]any)
	if !ok {
		return &Violation{Reason: ReasonSchema, Where: "it is no object"}
	}
	want := c.spec.Keys
	missing := slices.ContainsFunc(want, func(k string) bool { _, ok := object[k]; return !ok })
	extra := false
	for k := range object {
		extra = extra || !slices.Contains(want, k)
	}
	switch {
	case missing && object["properties"] != nil && (object["type"] != nil || object["$schema"] != nil):
		return &Violation{Reason: ReasonEcho}
	case missing && c.wraps(object):
		return &Violation{Reason: ReasonWrapped}
	case extra:
		return &Violation{Reason: ReasonExtraKey}
	case missing:
		i := slices.IndexFunc(want, func(k string) bool { _, ok := object[k]; return !ok })
		return &Violation{Reason: ReasonMissingKey, Where: want[i]} // a name of the contract's, not of the output
	}
	return nil
}

// wraps reports whether one of the values has all the keys.
func (c *Contract) wraps(object map[string]any) bool {
	for _, v := range object {
		inner, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(c.spec.Keys, func(k string) bool { _, ok := inner[k]; return !ok }) {
			return true
		}
	}
	return false
}
