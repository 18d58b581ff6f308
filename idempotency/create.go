package idempotency

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/onejob-go/onejob"
)

// Create is the handler that stores the intent and answers 202 with the job, for
// a worker to do. A repeated request is told how the job stands now, and its
// result once there is one.
func (l *Layer) Create() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.needsKey(r) {
			// Without a key there is no identity, and none is invented.
			if len(r.Header.Values(keyHeader)) == 0 && l.o.Optional {
				l.tell(w, pKeyMissing, onejob.Job{})
				return
			}
			w.Header().Set("Allow", strings.Join(l.o.Methods, ", "))
			l.tell(w, pMethod, onejob.Job{})
			return
		}
		in, _, ok := l.read(w, r)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeTime)
		defer cancel()
		job, created, err := l.o.Create(ctx, in)
		l.WriteCreated(w, r, job, created, err)
	})
}

// read takes the request apart: who, which key, what. Where it reports false it
// has answered. The raw body is what the client sent.
func (l *Layer) read(w http.ResponseWriter, r *http.Request) (in onejob.Intent, raw []byte, ok bool) {
	refuse := func(p problem) (onejob.Intent, []byte, bool) {
		l.tell(w, p, onejob.Job{})
		return onejob.Intent{}, nil, false
	}
	key, kerr := keyOf(r.Header, l.o.Strict)
	if errors.Is(kerr, errKeyMissing) {
		return refuse(pKeyMissing)
	}
	// The body first: an owner function that reads a form would leave none, and
	// then all inputs would look the same.
	raw, plain, err := l.bodyOf(w, r)
	switch {
	case errors.Is(err, errBodyLarge):
		return refuse(pBodyLarge)
	case errors.Is(err, errBodyGone):
		l.log.Error("onejob: " + err.Error())
		return refuse(pInternal)
	case err != nil:
		return refuse(pBodyRead)
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	owner, err := l.o.Owner(r)
	switch {
	case err != nil || owner == "":
		return refuse(pOwner)
	case errors.Is(kerr, errKeyLong):
		return refuse(pKeyLong)
	case kerr != nil:
		return refuse(pKeyMalformed)
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if in, err = l.o.Intent(r, plain); err != nil {
		return refuse(pInvalid)
	}
	in.Owner, in.Key = owner, key
	return in, raw, true
}

// Job is the handler of a job's own address: GET with the path value "id", as
// in mux.Handle("GET /jobs/{id}", layer.Job()). Another owner's job and no job
// are the same 404, byte for byte.
func (l *Layer) Job() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, err := l.o.Owner(r)
		if err != nil || owner == "" {
			l.tell(w, pOwner, onejob.Job{})
			return
		}
		job, err := l.jobs.Get(r.Context(), owner, onejob.JobID(r.PathValue("id")))
		if err != nil {
			if errors.Is(err, onejob.ErrInvalid) {
				err = onejob.ErrNotFound
			}
			l.refuse(w, onejob.Job{}, err)
			return
		}
		if job.State == onejob.JobCanceled {
			l.tell(w, pCanceled, job)
			return
		}
		if !job.PurgedAt.IsZero() {
			l.tell(w, pExpired, job)
			return
		}
		status := 0
		if rec, ok := l.recorded(job); ok {
			job.Result, status = rec.body, rec.Status
		}
		if s := job.Status(); s == onejob.StatusPending || s == onejob.StatusRunning {
			w.Header().Set("Retry-After", seconds(l.o.RetryAfter))
		}
		l.writeJob(w, http.StatusOK, job, status)
	})
}
