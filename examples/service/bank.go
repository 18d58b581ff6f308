package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// bank charges slowly, and remembers keys.
type bank struct {
	*http.ServeMux
	mu       sync.Mutex
	receipts map[string]string // by key
	charged  int
}

func newBank() *bank {
	b := &bank{ServeMux: http.NewServeMux(), receipts: map[string]string{}}
	b.HandleFunc("POST /charge", b.charge)
	b.HandleFunc("GET /charged", func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		fmt.Fprintln(w, b.charged)
	})
	return b
}

// charge does what the item says: "declined", "busy", "silent" and "slow" are
// what banks do on a bad day.
func (b *bank) charge(w http.ResponseWriter, r *http.Request) {
	var order struct{ Item string }
	if json.NewDecoder(r.Body).Decode(&order) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch order.Item {
	case "declined":
		w.WriteHeader(http.StatusPaymentRequired)
		return
	case "busy":
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	wait := 200 * time.Millisecond
	if order.Item == "slow" {
		wait = 2 * time.Second
	}
	key := r.Header.Get("Idempotency-Key")
	b.mu.Lock()
	receipt, known := b.receipts[key]
	if !known {
		b.charged++
		receipt = fmt.Sprint("ch_", b.charged)
		b.receipts[key] = receipt
	}
	b.mu.Unlock()
	time.Sleep(wait)
	if order.Item == "silent" {
		panic(http.ErrAbortHandler) // it has charged, and nobody hears of it
	}
	w.Header().Set("Request-Id", receipt)
	json.NewEncoder(w).Encode(map[string]string{"receipt": receipt})
}
