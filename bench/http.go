package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/onejob-go/onejob/idempotency"
)

// openHTTP puts the middleware beside handlers that do the same by themselves,
// all behind one real server of net/http.
func (f *field) openHTTP(context.Context) error {
	layer, err := idempotency.New(f.pg.jobs, idempotency.Options{
		Kind: "charge", Owner: func(*http.Request) (string, error) { return "owner-1", nil },
	})
	if err != nil {
		return err
	}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"receipt":"ch_1"}`)
	})
	mux := http.NewServeMux()
	mux.Handle("/plain", plain)
	mux.Handle("/wrap", layer.Wrap(plain))
	mux.Handle("/create", layer.Create())
	mux.HandleFunc("/own/cycle", func(w http.ResponseWriter, r *http.Request) { withStore(w, r, plain, f.pg.Cycle) })
	mux.HandleFunc("/own/create", func(w http.ResponseWriter, r *http.Request) { withStore(w, r, plain, f.pg.Create) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l) // its error is that it was closed
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	f.close = append(f.close, func() { transport.CloseIdleConnections(); server.Close() })
	client := &http.Client{Transport: transport}
	post := func(path, key string) error { return post(client, "http://"+l.Addr().String()+path, key) }
	if err := post("/wrap", "hot"); err != nil {
		return err
	}
	f.add("http handler", func(context.Context, int) error { return post("/plain", key()) })
	f.metered("http handler with Start + Complete", func(context.Context, int) error { return post("/own/cycle", key()) })
	f.metered("http Wrap", func(context.Context, int) error { return post("/wrap", key()) })
	f.metered("http handler with Create", func(context.Context, int) error { return post("/own/create", key()) })
	f.metered("http Create", func(context.Context, int) error { return post("/create", key()) })
	f.metered("http replay", func(context.Context, int) error { return post("/wrap", "hot") })
	return nil
}

// withStore is a handler that calls the store by itself.
func withStore(w http.ResponseWriter, r *http.Request, plain http.Handler, do op) {
	if err := do(r.Context(), 0); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	plain.ServeHTTP(w, r)
}

func post(client *http.Client, url, key string) error {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(string(params)))
	if err != nil {
		return err
	}
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", `"`+key+`"`)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// httpMatches say what the middleware costs beside the same calls of the store
// in a handler, and what a replay does beside a handler without any store.
func httpMatches() (list []match) {
	for _, n := range []int{1, 32} {
		list = append(list,
			match{"HTTP: Wrap", n, []string{"pg http Wrap", "pg http handler with Start + Complete", "http handler"},
				[]goal{{a: "pg http Wrap", b: "pg http handler with Start + Complete"}, {a: "pg http Wrap", b: "http handler"}}, 0, 0},
			match{"HTTP: Create", n, []string{"pg http Create", "pg http handler with Create"},
				[]goal{{a: "pg http Create", b: "pg http handler with Create"}}, 0, 0},
			match{"HTTP: replay", n, []string{"pg http replay", "http handler"},
				[]goal{{a: "pg http replay", b: "http handler"}}, 0, 0})
	}
	return list
}
