package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
)

// service charges cards through a bank. Its tests are in charge_test.go.
type service struct {
	jobs    *onejob.Jobs
	bank    bank
	timeout time.Duration // of one request to the bank
}

// options are those of every process that may complete jobs: this service, the
// tool of whoever carries the pager, and the tests.
func (s *service) options() *onejob.Options {
	return &onejob.Options{OnComplete: s.book, Logger: slog.Default()}
}

// book writes the host's own row, in the commit that completes the job.
func (s *service) book(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (job_id, receipt) VALUES (?, ?)`, string(job.ID), string(job.Result))
	return err
}

func (s *service) migrate(ctx context.Context) error {
	return s.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (job_id TEXT PRIMARY KEY, receipt TEXT NOT NULL) STRICT`)
		return err
	})
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", s.charge)
	mux.HandleFunc("POST /webhooks/bank/{attempt}", s.webhook)
	return mux
}

// owner stands for the user who is logged in: take it from the login, never
// from the request.
const owner = "alice"

// charge serves the user's click.
func (s *service) charge(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	job, err := s.jobs.Do(r.Context(),
		onejob.Intent{Owner: owner, Key: r.Header.Get("Idempotency-Key"), Kind: "charge", Params: body},
		onejob.Try{Provider: "bank", Timeout: s.timeout}, s.ask)
	answer(w, job, err)
}

// ask is the one place that charges.
func (s *service) ask(ctx context.Context, job onejob.Job, attempt onejob.Attempt) ([]byte, error) {
	receipt, err := s.bank.Charge(ctx, attempt.ProviderKey, attempt.ID, job.Params)
	if errors.Is(err, errRefused) {
		return nil, onejob.NoEffect(err) // the bank's own word; no other error is proof
	}
	return receipt, err
}

// webhook is the bank's answer to a request that we had given up waiting for.
// Whatever it answers with 2xx the bank does not send again.
func (s *service) webhook(w http.ResponseWriter, r *http.Request) {
	receipt, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	_, attempt, err := s.jobs.GetAttempt(r.Context(), onejob.AttemptID(r.PathValue("attempt")))
	if err == nil {
		_, err = s.jobs.Complete(r.Context(), attempt, receipt)
	}
	switch {
	case errors.Is(err, onejob.ErrNotFound):
		http.Error(w, "no such attempt", http.StatusNotFound)
	case err == nil, errors.Is(err, onejob.ErrLateResult), errors.Is(err, onejob.ErrResultMismatch):
		w.WriteHeader(http.StatusNoContent) // a late one is kept as evidence: see refunds
	default:
		http.Error(w, "send it again", http.StatusServiceUnavailable)
	}
}

// reconcile asks the bank about the charges in doubt that began before a time.
// Run it now and then. Let that time be well in the past: the bank must have
// received by then whatever we sent it.
func (s *service) reconcile(ctx context.Context, before time.Time) (unknown int, err error) {
	lookUp := func(ctx context.Context, _ onejob.Job, attempt onejob.Attempt) ([]byte, error) {
		receipt, err := s.bank.Find(ctx, attempt.ProviderKey)
		if errors.Is(err, errNoCharge) {
			return nil, onejob.NoEffect(err)
		}
		return receipt, err
	}
	return onejob.NewOperator(s.jobs).Reconcile(ctx, onejob.Filter{Kind: "charge", Before: before}, lookUp)
}

// refunds are the attempts whose charge came when the job was decided already:
// each may have taken money that nothing accounts for.
func (s *service) refunds(ctx context.Context) (list []onejob.AttemptID, err error) {
	for entry, err := range onejob.NewOperator(s.jobs).Attempts(ctx, onejob.Filter{Kind: "charge", Late: true}) {
		if err != nil {
			return nil, err
		}
		list = append(list, entry.Attempt.ID)
	}
	return list, nil
}

// reply is what the user is told.
type reply struct {
	Status  onejob.Status   `json:"status,omitempty"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
}

func answer(w http.ResponseWriter, job onejob.Job, err error) {
	out := reply{Status: job.Status(), Receipt: job.Result}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(err))
	_ = json.NewEncoder(w).Encode(out) // the client may be gone: the job is not
}

func statusOf(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, onejob.ErrInDoubt): // before ErrAttemptOpen, which it may also be
		return http.StatusConflict // it is being checked: waiting does not help
	case errors.Is(err, onejob.ErrAttemptOpen):
		return http.StatusAccepted // another click is at it: ask again
	case errors.Is(err, onejob.ErrFailed):
		return http.StatusBadGateway // nothing happened: click again
	case errors.Is(err, onejob.ErrUnavailable):
		// The bank was not called. The next click may meet the attempt that this one
		// began without hearing of it: reconcile finds out that it charged nothing.
		return http.StatusServiceUnavailable
	case errors.Is(err, onejob.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, onejob.ErrKeyConflict):
		return http.StatusConflict // a new intent needs a new key
	case errors.Is(err, onejob.ErrAttemptEnded), errors.Is(err, onejob.ErrLateResult), errors.Is(err, onejob.ErrTooManyAttempts):
		return http.StatusConflict // somebody has decided, or must
	case errors.Is(err, onejob.ErrKeyRetired), errors.Is(err, onejob.ErrJobCanceled):
		return http.StatusGone
	}
	return http.StatusInternalServerError
}
