package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/onejob-go/onejob"
	h "github.com/onejob-go/onejob/faults/history"
)

// codes are the refusals, in the order in which they are asked for: an attempt in
// the way is also in doubt.
var codes = []struct {
	err  error
	code string
}{
	{onejob.ErrUnavailable, h.Unknown},
	{onejob.ErrKeyConflict, h.Conflict},
	{onejob.ErrAttemptOpen, h.Open},
	{onejob.ErrLateResult, h.Late},
	{onejob.ErrResultMismatch, h.Mismatch},
	{onejob.ErrAttemptEnded, h.Ended},
	{onejob.ErrCompleted, h.Complete},
	{onejob.ErrJobCanceled, h.Canceled},
	{onejob.ErrTooManyAttempts, h.TooMany},
	{onejob.ErrNotFound, h.NotFound},
	{onejob.ErrInDoubt, h.InDoubt},
}

func codeOf(err error) string {
	if err == nil {
		return h.OK
	}
	// A constraint that is broken is the library's own fault: no row of the host's
	// has any.
	for _, broken := range []string{"SQLSTATE 23", "SQLSTATE 42", "result code 19"} {
		if strings.Contains(err.Error(), broken) {
			return h.Wrong
		}
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	var e *onejob.Error
	if errors.As(err, &e) && e.Err != nil && strings.HasPrefix(e.Err.Error(), "OnComplete refused") {
		return h.Refused
	}
	return h.Wrong
}

// reply is what a caller was told: by the values returned, or by the error.
func reply(job onejob.Job, a *onejob.Attempt, err error) h.Reply {
	r := h.Reply{Code: codeOf(err)}
	var e *onejob.Error
	if errors.As(err, &e) {
		r.Error = err.Error()
		if job.ID == "" {
			job = e.Job
		}
		a = e.Attempt
	} else if err != nil {
		r.Error = err.Error()
	}
	r.Job, r.State, r.Version = string(job.ID), string(job.State), job.Version
	if job.State == onejob.JobCompleted {
		if job.Attempt != nil {
			r.Winner = string(job.Attempt.ID)
		}
		sum := sha256.Sum256(job.Result)
		r.Digest = hex.EncodeToString(sum[:8])
	}
	if a != nil {
		r.Attempt, r.AState = string(a.ID), string(a.State)
	}
	return r
}
