package idempotency

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/onejob-go/onejob"
)

// Write answers with the job or the error that a call of package onejob gave,
// for hosts with handlers of their own: 200 and the result once completed, 202
// while it is not, and a problem for each refusal. An error that is not one of
// onejob's is 500, and its text is not shown.
func (l *Layer) Write(w http.ResponseWriter, r *http.Request, job onejob.Job, err error) {
	l.write(w, r, job, false, true, err)
}

// WriteCreated is Write for what Jobs.Create has returned: where it made no job,
// the answer says that it is a repeated one.
func (l *Layer) WriteCreated(w http.ResponseWriter, r *http.Request, job onejob.Job, created bool, err error) {
	// A worker's result is bytes of others: it is never taken for a response.
	l.write(w, r, job, err == nil && !created, false, err)
}

// write says that it is a repeated answer, where it is one. A response that a
// handler of this layer has given is shown as that.
func (l *Layer) write(w http.ResponseWriter, r *http.Request, job onejob.Job, repeated, responses bool, err error) {
	job = known(job, err)
	l.mark(w, r, job)
	done := errors.Is(err, onejob.ErrCompleted) ||
		job.State == onejob.JobCompleted && (errors.Is(err, onejob.ErrLateResult) || errors.Is(err, onejob.ErrResultMismatch))
	if err != nil && !done {
		l.refuse(w, job, err)
		return
	}
	if job.ID == "" {
		l.log.Error("onejob: there is neither a job nor an error to answer with")
		l.tell(w, pInternal, job)
		return
	}
	if repeated {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	switch job.Status() {
	case onejob.StatusCompleted:
		l.writeResult(w, job, responses)
	case onejob.StatusCanceled:
		l.tell(w, pCanceled, job)
	case onejob.StatusUnknown:
		l.writeJob(w, http.StatusAccepted, job, 0)
	default:
		if repeated {
			w.Header().Set("Retry-After", seconds(l.o.RetryAfter))
		}
		l.writeJob(w, http.StatusAccepted, job, 0)
	}
}

// known is the job that is at hand, also in a refusal.
func known(job onejob.Job, err error) onejob.Job {
	var e *onejob.Error
	if errors.As(err, &e) && e.Job.ID != "" {
		return e.Job
	}
	return job
}

// mark adds the headers that every answer about a job has.
func (l *Layer) mark(w http.ResponseWriter, r *http.Request, job onejob.Job) {
	if job.ID == "" {
		return
	}
	w.Header().Set("Location", l.o.Location(job))
	if values := r.Header.Values(keyHeader); len(values) == 1 {
		w.Header().Set(keyHeader, values[0])
	}
}

// refuse answers with the problem that an error is.
func (l *Layer) refuse(w http.ResponseWriter, job onejob.Job, err error) {
	switch {
	case errors.Is(err, onejob.ErrKeyConflict):
		p := pKeyReused
		p.status = l.o.Conflict
		w.Header().Del("Location") // it is another request's
		l.tell(w, p, job)
	case errors.Is(err, onejob.ErrKeyRetired) && job.State == onejob.JobCanceled:
		l.tell(w, pCanceled, job) // it was never processed
	case errors.Is(err, onejob.ErrKeyRetired):
		l.tell(w, pExpired, job)
	case errors.Is(err, onejob.ErrJobCanceled):
		l.tell(w, pCanceled, job)
	case errors.Is(err, onejob.ErrInDoubt):
		l.tell(w, pUnknown, job)
	case errors.Is(err, onejob.ErrAttemptOpen):
		w.Header().Set("Retry-After", seconds(untilDeadline(job)))
		l.tell(w, pOutstanding, job)
	case errors.Is(err, onejob.ErrTooManyAttempts):
		l.tell(w, pAttempts, job)
	case errors.Is(err, onejob.ErrNotQualified):
		w.Header().Set("Retry-After", seconds(l.o.RetryAfter))
		l.tell(w, pNotQualified, job)
	case errors.Is(err, onejob.ErrLateResult), errors.Is(err, onejob.ErrAttemptEnded):
		l.tell(w, pUnknown, job)
	case errors.Is(err, onejob.ErrInvalid):
		l.tell(w, pInvalid, onejob.Job{})
	case errors.Is(err, onejob.ErrNotFound):
		l.tell(w, pNotFound, onejob.Job{})
	case errors.Is(err, onejob.ErrUnavailable), errors.Is(err, onejob.ErrRetryTx), errors.Is(err, onejob.ErrFailed):
		w.Header().Set("Retry-After", seconds(l.o.RetryAfter))
		l.tell(w, pStore, job)
	default:
		l.log.Error("onejob: a request could not be taken", "error", err.Error())
		l.tell(w, pInternal, job)
	}
}

// untilDeadline is how long the open attempt may still take.
func untilDeadline(job onejob.Job) time.Duration {
	if job.Attempt == nil {
		return 0
	}
	return time.Until(job.Attempt.Deadline)
}

// seconds is for Retry-After: whole ones, one at least.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64(max(1, (d+time.Second-1)/time.Second)), 10)
}

// jobBody is a job as clients see it.
type jobBody struct {
	ID     onejob.JobID    `json:"id"`
	State  onejob.Status   `json:"state"`
	Status int             `json:"status,omitempty"` // the handler's, where the job is a response
	Result json.RawMessage `json:"result,omitempty"`
	Bytes  []byte          `json:"result_bytes,omitempty"` // base64: a result that is no JSON
}

func (l *Layer) writeJob(w http.ResponseWriter, status int, job onejob.Job, response int) {
	body := jobBody{ID: job.ID, State: job.Status(), Status: response}
	if job.State == onejob.JobCompleted && len(job.Result) > 0 {
		if json.Valid(job.Result) {
			body.Result = job.Result
		} else {
			body.Bytes = job.Result
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		l.tell(w, pInternal, job)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone has nothing to be told
}

// writeResult answers with a completed job: the recorded response of a handler,
// byte for byte, or the job with its result.
func (l *Layer) writeResult(w http.ResponseWriter, job onejob.Job, responses bool) {
	if !job.PurgedAt.IsZero() {
		l.tell(w, pExpired, job)
		return
	}
	rec, ok := l.recorded(job)
	switch {
	case !ok || !responses:
		l.writeJob(w, http.StatusOK, job, 0)
	case rec.Stub:
		l.tell(w, pStub, job)
	default:
		l.replayTo(w, rec)
	}
}

// recorded is the response that a job is, if a handler of this layer has won it:
// what a worker or an operator has brought is no response, whatever it looks
// like.
func (l *Layer) recorded(job onejob.Job) (record, bool) {
	if job.State != onejob.JobCompleted || job.Attempt == nil || job.Attempt.Provider != l.o.Provider {
		return record{}, false
	}
	return decode(job.Result)
}
