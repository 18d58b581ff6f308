package main

import (
	"regexp"
	"strings"

	"github.com/onejob-go/onejob"
)

var (
	jobForm     = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	attemptForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9a-f]{16}$`)
)

// id reads an ID as it was copied: with white space around it, perhaps in upper
// case. One of job and attempt is set.
func id(text string) (job onejob.JobID, attempt onejob.AttemptID, err error) {
	s := strings.ToLower(strings.TrimSpace(text))
	switch {
	case jobForm.MatchString(s):
		return onejob.JobID(s), "", nil
	case attemptForm.MatchString(s):
		return "", onejob.AttemptID(s), nil
	}
	return "", "", usage("%s is neither a job's ID (36 characters) nor an attempt's (53): copy it whole, or use onejob show --owner O --key K",
		safe(cut(redact(text), 80)))
}
