package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// owner stands for the user who is logged in: take it from the login, never
// from the request.
const owner = "alice"

// routes are the providers that may be asked to charge, and how long each may
// take. The wallet of this example is down.
var routes = map[string]time.Duration{"card": 20 * time.Second, "wallet": 100 * time.Millisecond}

// shop is the host: an HTTP service that charges for orders.
type shop struct {
	jobs *onejob.Jobs
	pay  *payments
}

// order serves POST /orders. The provider is no part of the intent (Target is
// empty): so "use the fallback" with the same key finds the same job.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	via := cmp.Or(r.URL.Query().Get("via"), "card")
	if err != nil || routes[via] == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	job, err := s.jobs.Do(r.Context(), onejob.Intent{
		Owner:  owner,
		Key:    r.Header.Get("Idempotency-Key"),
		Kind:   "charge",
		Params: body,
		Scope:  []string{r.Method, r.URL.Path},
	}, onejob.Try{Provider: via, Timeout: routes[via]}, s.pay.charge)
	answer(w, job, err)
}

// reply is what a client is told.
type reply struct {
	Job    onejob.JobID    `json:"job"`
	Status onejob.Status   `json:"status"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// answer turns the job, or the refusal, into HTTP.
func answer(w http.ResponseWriter, job onejob.Job, err error) {
	out := reply{Job: job.ID, Status: job.Status(), Result: job.Result}
	code := http.StatusOK
	if err != nil {
		code = statusOf(job, err)
		out.Error = "the order was not charged by this request"
		if e, ok := errors.AsType[*onejob.Error](err); ok && e.Err != nil {
			out.Error = e.Err.Error()
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(out) // the client may be gone: the job is not
}

func statusOf(job onejob.Job, err error) int {
	switch {
	case errors.Is(err, onejob.ErrInvalid) && job.ID == "":
		return http.StatusBadRequest
	case errors.Is(err, onejob.ErrAttemptOpen) && !errors.Is(err, onejob.ErrInDoubt):
		return http.StatusAccepted // another click is at it: ask again
	case errors.Is(err, onejob.ErrAttemptOpen):
		return http.StatusConflict // an earlier attempt is in doubt: this one was not made
	case errors.Is(err, onejob.ErrInDoubt):
		return http.StatusGatewayTimeout // this attempt is in doubt
	case errors.Is(err, onejob.ErrFailed):
		return http.StatusBadGateway // nothing happened: another may begin
	case errors.Is(err, onejob.ErrUnavailable):
		return http.StatusServiceUnavailable
	case errors.Is(err, onejob.ErrKeyConflict), errors.Is(err, onejob.ErrKeyRetired),
		errors.Is(err, onejob.ErrJobCanceled), errors.Is(err, onejob.ErrTooManyAttempts):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

type server struct {
	url  string
	http *http.Server
}

// serve runs the shop on a free port of the loopback.
func serve(s *shop) (*server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.order)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &server{"http://" + l.Addr().String(), &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	go srv.http.Serve(l) //nolint:errcheck // it ends with ErrServerClosed
	return srv, nil
}

func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.http.Shutdown(ctx)
}
