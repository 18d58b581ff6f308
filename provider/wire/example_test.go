package wire_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/onejob-go/onejob/provider/wire"
)

// Two refusals and a doubt, by the status alone.
func ExampleSender_Send() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/full":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprint(w, "charged")
		}
	}))
	defer server.Close()

	// This provider promises that its 503 comes before any work.
	sender := wire.Sender{BeforeWork: []int{http.StatusServiceUnavailable}}
	for _, path := range []string{"/charges", "/busy", "/full", "/broken"} {
		req, err := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(`{"amount":1200}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("Idempotency-Key", "8a1b")
		answer, verdict, err := sender.Send(req)
		fmt.Printf("%s: %q %v\n", verdict, answer.Body, err)
	}
	// Output:
	// done: "charged" <nil>
	// not started: "" the provider answered 429 Too Many Requests
	// not started: "" the provider answered 503 Service Unavailable
	// unknown: "" the provider answered 500 Internal Server Error
}
