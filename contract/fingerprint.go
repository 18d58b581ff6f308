package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"

	"github.com/onejob-go/onejob/provider"
)

// fingerprint digests all that a proof depends on. Each part has its length
// before it, so that no two lists of parts look the same. TTL is not in it: what
// was proven stays proven.
func (c *Contract) fingerprint(r provider.Route) string {
	h := sha256.New()
	s := c.spec
	keys := slices.Sorted(slices.Values(s.Keys))
	write(h, "contract/1", s.Name, s.Revision, string(s.Schema), strconv.Itoa(s.Repeats), r.Model, r.Revision)
	write(h, strconv.Itoa(len(keys)))
	write(h, keys...)
	write(h, strconv.Itoa(len(s.Markers)))
	for _, m := range s.Markers {
		write(h, m.Role, m.Text, is(m.Shown != nil))
	}
	write(h, is(s.Check != nil))
	for _, one := range s.Cases {
		write(h, one.Name, string(one.Params), string(one.Good), is(one.Check != nil))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// is tells whether there is a function: what it does cannot be digested.
func is(there bool) string {
	if there {
		return "checked"
	}
	return ""
}

func write(h hash.Hash, parts ...string) {
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
}
