package onejob

import (
	"crypto/sha256"
	"encoding/binary"
)

// fingerprint is the digest that tells one intent from another. The version
// is stored beside it, so that a later way of computing it cannot make an old
// key conflict.
type fingerprint struct {
	version int
	sum     [32]byte
}

// fingerprintVersions are all the ways there ever were; the last is used for
// new jobs. An entry is never changed or removed: rows refer to it.
var fingerprintVersions = []func(Intent) ([32]byte, error){
	1: fingerprintV1,
}

// fingerprintOf computes the fingerprint in the newest version. Its error is
// ErrInvalid: params that are not what they are said to be.
func fingerprintOf(in Intent) (fingerprint, error) {
	newest := len(fingerprintVersions) - 1
	sum, err := fingerprintVersions[newest](in)
	return fingerprint{newest, sum}, err
}

// matches reports whether in, whose own fingerprint is f, is what was stored.
// Where the versions differ the request is computed again under the stored
// one.
func (f fingerprint) matches(stored fingerprint, in Intent) (bool, error) {
	if stored.version == f.version {
		return stored.sum == f.sum, nil
	}
	if stored.version < 1 || stored.version >= len(fingerprintVersions) {
		return false, &Error{Err: ErrUnsupported,
			Cause: ruleError("the stored fingerprint is of a newer version than this program knows: upgrade it")}
	}
	sum, err := fingerprintVersions[stored.version](in)
	return err == nil && sum == stored.sum, err
}

// fingerprintV1 is SHA-256 over length-prefixed fields. The lengths are what
// keeps ("ab", "c") and ("a", "bc") apart.
func fingerprintV1(in Intent) ([32]byte, error) {
	mode, params := "json", in.Params
	if in.Opaque {
		mode = "opaque"
	} else if len(params) > 0 {
		canonical, err := canonicalJSON(params)
		if err != nil {
			return [32]byte{}, err
		}
		params = canonical
	}
	// One buffer and one call: a hash.Hash would move each field to the heap.
	framed := make([]byte, 0, 256+len(params))
	for _, field := range []string{"onejob.fingerprint.v1", in.Kind, in.Target, mode} {
		framed = appendField(framed, field)
	}
	framed = appendField(framed, params)
	for _, field := range in.Scope {
		framed = appendField(framed, field)
	}
	return sha256.Sum256(framed), nil
}

func appendField[T string | []byte](framed []byte, field T) []byte {
	framed = binary.BigEndian.AppendUint64(framed, uint64(len(field)))
	return append(framed, field...)
}
