package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

// order is what a client sends. The key is made once per intent and kept for
// every retry of it.
type order struct{ Key, Body, Via string }

// response is what it gets.
type response struct {
	Code   int
	Job    onejob.JobID
	Status onejob.Status
	Result string
}

func (r response) String() string {
	if r.Job == "" {
		return fmt.Sprintf("HTTP %d", r.Code)
	}
	return fmt.Sprintf("HTTP %d  job %s is %s", r.Code, timeline.Short(r.Job), r.Status)
}

// click sends the order once and shows it.
func (s *story) click(who string, o order) (response, error) {
	s.tl.Row(who, "leaves")
	got, err := s.post(o)
	if err == nil {
		s.tl.Row(who, "returns   %s", got)
	}
	return got, err
}

// together sends the order from n clients at one instant. Of more than a few it
// shows the sum only.
func (s *story) together(n int, who string, o order) ([]response, error) {
	const few = 4
	got, errs := make([]response, n), make([]error, n)
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-gate
			if n > few {
				got[i], errs[i] = s.post(o)
			} else {
				got[i], errs[i] = s.click(fmt.Sprintf("%s %d", who, i+1), o)
			}
		})
	}
	if n > few {
		s.tl.Row(fmt.Sprintf("%s ×%d", who, n), "leave")
	}
	close(gate)
	wg.Wait()
	counts := map[response]int{}
	for i, r := range got {
		if errs[i] != nil {
			return nil, errs[i]
		}
		r.Result = ""
		counts[r]++
	}
	if n > few {
		for r, count := range counts {
			s.tl.Row(fmt.Sprintf("%s ×%d", who, count), "returned  %s", r)
		}
	}
	return got, nil
}

// post is a client of its own, with a connection of its own.
func (s *story) post(o order) (response, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost,
		s.url+"/orders?"+url.Values{"via": {o.Via}}.Encode(), strings.NewReader(o.Body))
	if err != nil {
		return response{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", o.Key)
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	var r reply
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return response{}, fmt.Errorf("HTTP %d: %w", res.StatusCode, err)
	}
	return response{Code: res.StatusCode, Job: r.Job, Status: r.Status, Result: string(r.Result)}, nil
}
