package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

// shop is the service.
type shop struct {
	http.Handler
	bank   string
	client *http.Client
}

var errLogin = errors.New("log in first")

func newShop(jobs *onejob.Jobs, bankURL string) (*shop, error) {
	layer, err := idempotency.New(jobs, idempotency.Options{
		Kind:    "order",
		Timeout: 10 * time.Second,
		Owner: func(r *http.Request) (string, error) {
			user, password, ok := r.BasicAuth() // stands for your login
			if !ok || password != "secret" {
				return "", errLogin
			}
			return user, nil
		},
	})
	if err != nil {
		return nil, err
	}
	s := &shop{bank: bankURL, client: &http.Client{Transport: &idempotency.Transport{
		Deduplicates: func(*http.Request) bool { return true }, // this bank promises to
		Ref:          "Request-Id", Jobs: jobs,
	}}}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", layer.Wrap(http.HandlerFunc(s.order)))
	mux.Handle("POST /prints", layer.Create())
	mux.Handle("GET /jobs/{id}", layer.Job())
	s.Handler = mux
	return s, nil
}

// order is the attempt at a job: it runs once for each intent.
func (s *shop) order(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !json.Valid(body) {
		http.Error(w, "the order is no JSON", http.StatusBadRequest) // stored: it will not get better
		return
	}
	// Under the request's context: it ends with the attempt, not with the client,
	// and carries the key for the bank.
	charge, err := http.NewRequestWithContext(r.Context(), http.MethodPost, s.bank+"/charge", bytes.NewReader(body))
	if err != nil {
		idempotency.NothingHappened(r.Context())
		http.Error(w, "no such bank", http.StatusInternalServerError)
		return
	}
	resp, err := s.client.Do(charge)
	if err != nil {
		// It may have charged: the outcome is unknown, and blocks the key.
		http.Error(w, "the bank gave no answer", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusPaymentRequired:
		http.Error(w, "the card was declined", http.StatusPaymentRequired) // a no is an answer
		return
	case http.StatusTooManyRequests:
		idempotency.NothingHappened(r.Context()) // the bank did nothing, for sure
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the bank is busy", http.StatusServiceUnavailable)
		return
	default:
		http.Error(w, "the bank said something odd", http.StatusBadGateway)
		return
	}
	receipt, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		http.Error(w, "the bank's answer ended early", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	w.Write(receipt)
}
