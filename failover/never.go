package failover

import (
	"context"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
)

var errNeverAsked = errors.New("nobody was asked: the store had not answered in time")

// neverAsked fails an attempt whose beginning got no answer, if it has begun, as
// soon as the store answers: nobody was asked, and else the job would be in doubt.
func (r *Runner) neverAsked(err error) {
	var e *onejob.Error
	if !errors.Is(err, onejob.ErrUnavailable) || !errors.As(err, &e) || e.Attempt == nil {
		return
	}
	id := e.Attempt.ID
	ctx, cancel := context.WithTimeout(context.Background(), max(r.c.Timeout, 10*time.Minute))
	r.late.Add()
	go func() {
		defer r.late.Done()
		defer cancel()
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			_, a, err := r.jobs.GetAttempt(ctx, id)
			if err == nil && a.State.Open() {
				_, err = r.jobs.Fail(ctx, a, onejob.NoEffect(errNeverAsked))
			}
			if !errors.Is(err, onejob.ErrUnavailable) {
				return
			}
		}
	}()
}
