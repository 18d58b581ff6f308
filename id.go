package onejob

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/google/uuid"
)

// ownLen is the length of an attempt's own part of its ID: 16 hex digits, 62
// of their bits random, in a name space of at most a few dozen.
const ownLen = 16

const jobIDLen = 36

// noJob is before every job.
const noJob JobID = "00000000-0000-0000-0000-000000000000"

func newUUIDv7() string { return uuid.Must(uuid.NewV7()).String() }

// valid reports whether id is a UUID in its usual spelling. Upper case is not:
// databases differ in whether they fold it.
func (id JobID) valid() bool {
	if len(id) != jobIDLen {
		return false
	}
	for i := range len(id) {
		switch i {
		case 8, 13, 18, 23:
			if id[i] != '-' {
				return false
			}
		default:
			if !lowerHex(id[i]) {
				return false
			}
		}
	}
	return true
}

func lowerHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// attemptID joins a job's ID and an attempt's own part.
func attemptID(job JobID, own string) AttemptID {
	return AttemptID(string(job) + "-" + own)
}

// split takes the ID apart; both parts are empty when it is malformed.
func (id AttemptID) split() (job JobID, own string) {
	if len(id) != jobIDLen+1+ownLen || id[jobIDLen] != '-' {
		return "", ""
	}
	job, own = JobID(id[:jobIDLen]), string(id[jobIDLen+1:])
	if !job.valid() {
		return "", ""
	}
	for i := range len(own) {
		if !lowerHex(own[i]) {
			return "", ""
		}
	}
	return job, own
}

// own returns the attempt's own part of its ID.
func (id AttemptID) own() string {
	_, own := id.split()
	return own
}

// mintJob makes a job's ID before any statement is sent: a driver may send a
// statement twice, and an ID made by the database would then be two.
func (s *Jobs) mintJob() (JobID, error) {
	id := JobID(s.newID())
	if !id.valid() {
		return "", invalid("Options.NewID", "must return a UUID in lower case")
	}
	return id, nil
}

// mintAttempt makes an attempt's ID under job, likewise.
func (s *Jobs) mintAttempt(job JobID) (AttemptID, error) {
	id, err := s.mintJob()
	if err != nil {
		return "", err
	}
	// The last two groups of a version 7 UUID are its random part.
	return attemptID(job, string(id[19:23]+id[24:])), nil
}

// providerKey derives what the provider gets as its idempotency key. No field
// can hold a line break, so the joined text is unambiguous. The PostgreSQL
// store computes the same in SQL.
func providerKey(job JobID, provider string, generation int) string {
	sum := sha256.Sum256([]byte(string(job) + "\n" + provider + "\n" + strconv.Itoa(generation)))
	return hex.EncodeToString(sum[:16])
}
