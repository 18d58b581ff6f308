package onejob

import "time"

// Qualification is what one provider has proven: of so many runs of a
// contract's cases, so many passed. It counts until it expires or is revoked,
// for this very fingerprint, and only if all runs passed.
type Qualification struct {
	Provider string // the route's name, as in Try.Provider
	Requirement
	Runs, Passes int
	// Evidence is the report, up to 1 MiB. It is kept as it is.
	Evidence []byte
	// QualifiedAt and ExpiresAt are of the store's clock.
	QualifiedAt, ExpiresAt time.Time
	// RevokedAt is when somebody took it back; zero: nobody did.
	RevokedAt time.Time
	Decision  // who revoked it, and why
}

// The limits of a qualification, in bytes.
const (
	maxContract    = 255
	maxModel       = 255
	maxFingerprint = 128
	maxEvidence    = 1 << 20
)

func checkRequirement(field string, r Requirement) error {
	err := checkText(field+".Contract", r.Contract, 1, maxContract)
	if err == nil {
		err = checkText(field+".Model", r.Model, 1, maxModel)
	}
	if err == nil {
		err = checkText(field+".Fingerprint", r.Fingerprint, 1, maxFingerprint)
	}
	return err
}

func checkQualification(q Qualification, ttl time.Duration) error {
	if err := checkText("Qualification.Provider", q.Provider, 1, maxProvider); err != nil {
		return err
	}
	if err := checkRequirement("Qualification", q.Requirement); err != nil {
		return err
	}
	switch {
	case q.Runs < 1 || q.Runs > 1<<31-1:
		return invalid("Qualification.Runs", "must be positive")
	case q.Passes < 0 || q.Passes > q.Runs:
		return invalid("Qualification.Passes", "must be from 0 to Runs")
	case ttl <= 0:
		return invalid("ttl", "must be positive")
	}
	return checkSize("Qualification.Evidence", q.Evidence, maxEvidence)
}
