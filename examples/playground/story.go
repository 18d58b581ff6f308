package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

// player clicks on the page's own server, as a browser does.
type player struct {
	ctx context.Context
	tl  *timeline.Timeline
	url string
}

// story plays what a newcomer would click, and says whether the promises were
// kept.
func story(ctx context.Context, w io.Writer, store onejob.Store) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	answers := make(chan struct{})
	p, err := newPlayground(ctx, store, pace{timeout: 1500 * time.Millisecond, think: 100 * time.Millisecond, slow: func(stop <-chan struct{}) {
		select {
		case <-answers:
		case <-stop:
		}
	}})
	if err != nil {
		return err
	}
	defer p.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serve(serving, l, p) }()
	defer func() { stop(); <-ended }()

	s := &player{ctx, timeline.New(w), "http://" + l.Addr().String()}
	fmt.Fprintln(w, "playground: four providers, one button, jobs in SQLite")
	s.doubleClick()
	s.timeout()
	s.reverse(answers)
	s.lie()
	fmt.Fprintln(w, "\nSee it happen: go run ./examples/playground -listen 127.0.0.1:8080, and open http://127.0.0.1:8080/")
	return s.tl.Err()
}

func (s *player) doubleClick() {
	s.tl.Scene("a double click")
	first := s.click("order-1", "honest")
	second := s.click("order-1", "honest")
	s.tl.Promise(first.Begun && !second.Begun && first.Job == second.Job && first.Job != "", "one job, one attempt: the second click is told that it is there")
	now := s.until("order-1", "it is completed", func(x state) bool { return x.Status == onejob.StatusCompleted })
	s.tl.Promise(now.Books["honest"] == page{1, 1}, "charged once")
}

func (s *player) timeout() {
	s.tl.Scene("the provider charges and its answer is lost")
	s.click("order-2", "silent")
	now := s.until("order-2", "the attempt is unknown", func(x state) bool { return x.Status == onejob.StatusUnknown })
	s.tl.Promise(now.Books["silent"].Executed == 1, "it has charged, which nobody here can know")
	refused := s.click("order-2", "honest")
	s.tl.Promise(!refused.Begun, "the fallback is blocked")
	s.decide(now, "confirm")
	now = s.until("order-2", "an operator has looked it up, and the job is completed", func(x state) bool { return x.Status == onejob.StatusCompleted })
	s.tl.Promise(now.Books["honest"] == page{}, "the fallback was never asked: charged once")
}

func (s *player) reverse(answers chan struct{}) {
	s.tl.Scene("the slow one returns after the fallback")
	s.click("order-3", "slow")
	s.decide(s.look("order-3"), "detach")
	second := s.click("order-3", "honest")
	s.tl.Promise(second.Begun, "detached, it blocks no longer")
	s.until("order-3", "the fallback wins", func(x state) bool { return x.Status == onejob.StatusCompleted })
	close(answers)
	now := s.until("order-3", "the slow one comes back", func(x state) bool { return len(x.Open) == 0 })
	s.tl.Promise(strings.Contains(string(now.Timeline), "thrown away"), "its result is thrown away, and the timeline says so: it may mean a refund")
	s.tl.Promise(now.Books["slow"].Executed == 1 && now.Books["honest"].Executed == 1, "both have charged: that is what detaching risks")
}

func (s *player) lie() {
	s.tl.Scene("a provider that says done and does nothing")
	s.click("order-4", "liar")
	now := s.until("order-4", "the job is completed", func(x state) bool { return x.Status == onejob.StatusCompleted })
	s.tl.Promise(now.Books["liar"] == page{1, 0}, "nothing was charged: no database can see a lie")
	refused := s.send("order-5", "liar", true)
	s.tl.Promise(!refused.Begun, "asked only where it has proven itself, it is not asked")
	s.tl.Promise(s.look("order-5").Books["liar"] == page{}, "and it was not")
}

func (s *player) click(order, provider string) outcome { return s.send(order, provider, false) }

func (s *player) send(order, provider string, proven bool) (o outcome) {
	s.post("/click", url.Values{"order": {order}, "provider": {provider}, "proven": {fmt.Sprint(proven)}}, &o)
	s.tl.Row("click", "%s, %s → job %s, %s", order, provider, o.Job, o.Text)
	return o
}

func (s *player) decide(now state, what string) {
	if !s.tl.Promise(len(now.Open) == 1, "there is one attempt to decide on") {
		return
	}
	var o outcome
	s.post("/decide", url.Values{"attempt": {string(now.Open[0].ID)}, "what": {what}}, &o)
	s.tl.Row("operator", "%s → %s", what, o.Text)
}

func (s *player) look(order string) (x state) {
	s.get("/live?order="+url.QueryEscape(order), &x)
	return x
}

// until looks until it is so.
func (s *player) until(order, what string, is func(state) bool) (x state) {
	for s.ctx.Err() == nil {
		if x = s.look(order); is(x) {
			s.tl.Row("page", "%s", what)
			return x
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.tl.Promise(false, "%s", what)
	return x
}

func (s *player) post(path string, form url.Values, v any) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+path, strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		err = s.do(req, v)
	}
	if err != nil {
		s.tl.Promise(false, "the server answers: %v", err)
	}
}

func (s *player) get(path string, v any) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+path, nil)
	if err == nil {
		err = s.do(req, v)
	}
	if err != nil && s.ctx.Err() == nil {
		s.tl.Promise(false, "the server answers: %v", err)
	}
}

func (s *player) do(req *http.Request, v any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", req.URL.Path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(v)
}
