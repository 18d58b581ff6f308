package idempotency

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// storeTime bounds what the store may take for one step of a request.
const storeTime = 10 * time.Second

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
		if err == nil && created {
			l.write(w, r, job, false, nil)
			return
		}
		l.write(w, r, job, true, err)
	})
}

// read takes the request apart: who, which key, what. Where it reports false it
// has answered. The raw body is what the client sent.
func (l *Layer) read(w http.ResponseWriter, r *http.Request) (in onejob.Intent, raw []byte, ok bool) {
	key, err := keyOf(r.Header, l.o.Strict)
	if err == nil || !errors.Is(err, errKeyMissing) {
		owner, oerr := l.o.Owner(r)
		if oerr != nil || owner == "" {
			l.tell(w, pOwner, onejob.Job{})
			return in, nil, false
		}
		in.Owner = owner
	}
	switch {
	case errors.Is(err, errKeyMissing):
		l.tell(w, pKeyMissing, onejob.Job{})
		return in, nil, false
	case errors.Is(err, errKeyLong):
		l.tell(w, pKeyLong, onejob.Job{})
		return in, nil, false
	case err != nil:
		l.tell(w, pKeyMalformed, onejob.Job{})
		return in, nil, false
	}
	raw, plain, err := l.bodyOf(w, r)
	switch {
	case errors.Is(err, errBodyLarge):
		l.tell(w, pBodyLarge, onejob.Job{})
		return in, nil, false
	case err != nil:
		l.tell(w, pBodyRead, onejob.Job{})
		return in, nil, false
	}
	owner := in.Owner
	if in, err = l.o.Intent(r, plain); err != nil {
		l.tell(w, pInvalid, onejob.Job{})
		return in, nil, false
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
		if !job.PurgedAt.IsZero() {
			l.tell(w, pExpired, job)
			return
		}
		if rec, ok := decode(job.Result); ok && job.State == onejob.JobCompleted {
			job.Result = rec.body // the response's; its status and headers are the request's own
			if rec.Stub {
				job.Result = nil
			}
		}
		if s := job.Status(); s == onejob.StatusPending || s == onejob.StatusRunning {
			w.Header().Set("Retry-After", seconds(l.o.RetryAfter))
		}
		l.writeJob(w, http.StatusOK, job)
	})
}
