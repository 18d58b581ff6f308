package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/onejob-go/onejob/examples/internal/timeline"
)

// guide makes the requests of the tour.
type guide struct {
	ctx       context.Context
	tl        *timeline.Timeline
	url, bank string
}

// tour does what README.md does with curl, and says whether the promises were
// kept.
func tour(ctx context.Context, w io.Writer, s *shop, bank string) error {
	url, stop, err := background(s)
	if err != nil {
		return err
	}
	defer stop()
	g := &guide{ctx, timeline.New(w), url, bank}
	fmt.Fprintln(w, "service: POST /orders charges through a slow bank, jobs in SQLite")

	g.tl.Scene("a double click")
	statuses := g.clicks(10, "order-1", `{"item":"pen"}`)
	g.tl.Promise(statuses[201] == 1 && statuses[409] == 9, "one runs, the others are told that it is under way: %v", statuses)
	again := g.click("order-1", `{"item":"pen"}`)
	g.tl.Promise(again.StatusCode == 201 && again.Header.Get("Idempotent-Replayed") == "true", "repeated, it is the stored response")
	g.charged(1)

	g.tl.Scene("the key with another order")
	g.tl.Promise(g.click("order-1", `{"item":"ink"}`).StatusCode == 409, "a conflict, never a silent answer")
	g.charged(1)

	g.tl.Scene("a no is an answer, and is replayed")
	g.tl.Promise(g.click("order-2", `{"item":"declined"}`).StatusCode == 402 &&
		g.click("order-2", `{"item":"declined"}`).Header.Get("Idempotent-Replayed") == "true", "402, twice, asked once")

	g.tl.Scene("the bank is busy: nothing happened, so the order may be tried again")
	for range 2 {
		a := g.click("order-3", `{"item":"busy"}`)
		g.tl.Promise(a.StatusCode == 503 && a.Header.Get("Retry-After") == "1", "each try asks the bank")
	}
	g.charged(1)

	g.tl.Scene("the bank charges and says nothing: nobody knows, and the key is blocked")
	g.tl.Promise(g.click("order-4", `{"item":"silent"}`).StatusCode == 502, "the first caller sees what there is")
	a := g.click("order-4", `{"item":"silent"}`)
	g.tl.Promise(a.StatusCode == 409 && a.Header.Get("Retry-After") == "", "repeated, it does not charge again")
	g.charged(2)
	return g.tl.Err()
}

func (g *guide) clicks(n int, key, body string) map[int]int {
	var mu sync.Mutex
	statuses := map[int]int{}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			a := g.click(key, body)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.StatusCode]++
		})
	}
	group.Wait()
	return statuses
}

// click sends an order; what cannot be sent has no status.
func (g *guide) click(key, body string) *http.Response {
	resp, err := g.post(key, body)
	if err != nil {
		g.tl.Promise(false, "the service answers: %v", err)
		return &http.Response{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.tl.Promise(false, "the service answers to the end: %v", err)
	}
	g.tl.Row("client", "%s %s → %d %s", key, body, resp.StatusCode, short(resp, text))
	return resp
}

// short is a problem's type, or the body.
func short(resp *http.Response, text []byte) string {
	var problem struct{ Type string }
	if resp.Header.Get("Content-Type") == "application/problem+json" && json.Unmarshal(text, &problem) == nil {
		_, kind, _ := strings.Cut(problem.Type, "#problem-")
		return kind
	}
	return strings.TrimSpace(string(text))
}

func (g *guide) post(key, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(g.ctx, http.MethodPost, g.url+"/orders", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // the client's own net/http would repeat it
	req.SetBasicAuth("alice", "secret")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", `"`+key+`"`)
	return http.DefaultClient.Do(req)
}

// charged promises how often the bank has charged.
func (g *guide) charged(want int) {
	var got int
	req, err := http.NewRequestWithContext(g.ctx, http.MethodGet, g.bank+"/charged", nil)
	if err == nil {
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			defer resp.Body.Close()
			_, err = fmt.Fscan(resp.Body, &got)
		}
	}
	g.tl.Promise(errors.Is(err, nil) && got == want, "the bank has charged %d in all", got)
}
