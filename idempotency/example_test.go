package idempotency_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

func ExampleLayer_Wrap() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	store, err := onejob.OpenSQLite(req.Context(), filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if err := store.Migrate(req.Context()); err != nil {
		panic(err)
	}
	layer, err := idempotency.New(onejob.New(store, nil), idempotency.Options{
		Kind:  "order",
		Owner: func(r *http.Request) (string, error) { return "user-7", nil }, // from what was authenticated
	})
	if err != nil {
		panic(err)
	}
	orders := 0
	handler := layer.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "order %d", orders)
	}))

	for _, body := range []string{`{"item":"pen"}`, `{"item":"pen"}`, `{"item":"ink"}`} {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", `"order-1042"`)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		text, _ := io.ReadAll(w.Result().Body)
		fmt.Println(w.Code, w.Header().Get("Idempotent-Replayed"), strings.Split(string(text), ",")[0])
	}
	// Output:
	// 201  order 1
	// 201 true order 1
	// 409  {"type":"https://github.com/onejob-go/onejob/blob/main/docs/http.md#problem-key-reused"
}

func ExampleTransport() {
	client := &http.Client{Transport: &idempotency.Transport{
		// This provider promises to deduplicate by the header.
		Deduplicates: func(r *http.Request) bool { return r.URL.Host == "pay.example.com" && r.Method == http.MethodPost },
	}}
	// Under a handler's or a worker's context its requests carry the attempt's key.
	fmt.Println(client.Timeout)
	// Output: 0s
}
