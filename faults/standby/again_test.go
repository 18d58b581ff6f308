package standby

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

// askAgain is a new hand at an old key, as after a click on a page that was left
// open: here a standby that forgot would let a second execution win. open is the
// attempt that was begun and not completed, if any.
func (l *ledger) askAgain(ctx context.Context, jobs *onejob.Jobs, key string, id onejob.JobID, open onejob.AttemptID) {
	job, created, err := jobs.Create(ctx, intent(key))
	if err != nil || created || job.ID != id {
		l.fault(key, "asked again, acknowledged job %s came to: %v, created %t, %v", id, job, created, err)
		if err != nil {
			return
		}
	}
	w, won := l.winners[id]
	if !won && open == "" {
		return // nobody was told of an attempt: one may begin
	}
	a, err := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "other", Timeout: time.Hour})
	var e *onejob.Error
	switch {
	case err == nil:
		_, err = jobs.Complete(ctx, a, []byte("a second charge"))
		l.fault(key, "asked again, attempt %s began beside winner %v or open attempt %q, and completed with: %v", a.ID, w, open, err)
	case !errors.As(err, &e) || e.Attempt == nil && e.Job.Attempt == nil:
		l.fault(key, "asked again, BeginAttempt: %v", err)
	case won:
		if !errors.Is(err, onejob.ErrCompleted) || e.Job.Attempt == nil ||
			w != (winner{e.Job.Attempt.ID, sha256.Sum256(e.Job.Result)}) {
			l.fault(key, "asked again, acknowledged winner %s came to: %v", w.attempt, err)
		}
	case !errors.Is(err, onejob.ErrAttemptOpen) || e.Attempt == nil || e.Attempt.ID != open:
		l.fault(key, "asked again, open attempt %s came to: %v", open, err)
	}
}
