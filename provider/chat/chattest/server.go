// Package chattest is a local server that speaks the chat API: for tests and
// examples of failover. It adds up orders, see [Contract], and does so honestly
// or in one of the ways in which real providers do not, see [Lies]. It may also
// be slow, refuse, hang or die: see [Server.Hang] and the methods beside it.
package chattest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is one provider on the loopback interface. It is safe for use by many
// goroutines.
type Server struct {
	// URL is the address of the chat endpoint.
	URL string

	http *http.Server
	stop chan struct{}
	once sync.Once

	mu       sync.Mutex
	lie      string
	trouble  trouble
	replays  bool
	requests []*Request
	runs     map[string]*execution // by key
	cache    map[string][]byte     // by body, for the lie "caches"
	executed int
	release  chan struct{}
	arrived  func(Request)
}

// Request is one that has arrived.
type Request struct {
	Key      string // Idempotency-Key
	Model    string
	At       time.Time
	Executed bool // false: refused, or answered from what is remembered
	Lookup   bool // it only asked what became of Key
}

// execution is what became of a key.
type execution struct {
	body []byte // nil: not answered yet
}

// trouble is what the server does instead of answering.
type trouble struct {
	status int
	hang   bool
	die    bool
	cut    bool
	wait   time.Duration
}

// Serve starts a server that is honest, on a free port. Close it.
func Serve() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL:  "http://" + l.Addr().String() + "/v1/chat/completions",
		stop: make(chan struct{}), release: make(chan struct{}),
		runs: map[string]*execution{}, cache: map[string][]byte{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/runs/{key}", s.lookUp)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(l) // its error is that it was closed
	return s, nil
}

// Close ends the server and what hangs in it. It may be called again.
func (s *Server) Close() error {
	s.once.Do(func() { close(s.stop) })
	return s.http.Close()
}

// Lie makes the server lie in one of the ways of [Lies], or be honest in one
// of the ways of [HonestWays]; empty: plainly.
func (s *Server) Lie(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lie = name
}

func (s *Server) set(t trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = t
}

// Well ends what the methods below began; what hangs goes on hanging.
func (s *Server) Well() { s.set(trouble{}) }

// Hang makes the server do the work and then say nothing, until [Server.Release].
func (s *Server) Hang() { s.set(trouble{hang: true}) }

// Wait makes it take that long.
func (s *Server) Wait(d time.Duration) { s.set(trouble{wait: d}) }

// Refuse makes it answer with a status and do nothing.
func (s *Server) Refuse(status int) { s.set(trouble{status: status}) }

// Die makes it do the work and then close the connection without an answer.
func (s *Server) Die() { s.set(trouble{die: true}) }

// CutBody makes it do the work and end the answer in the middle.
func (s *Server) CutBody() { s.set(trouble{cut: true}) }

// Release lets all that hangs answer now.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// Replay makes it answer a key that it knows with the first answer.
func (s *Server) Replay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replays = true
}

// Arrived is called with each request before anything is done about it.
func (s *Server) Arrived(f func(Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = f
}

// Requests are those that have arrived so far, look-ups too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, 0, len(s.requests))
	for _, r := range s.requests {
		list = append(list, *r)
	}
	return list
}

// Forget drops the list of requests, and the count of executions.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.executed = nil, 0
}

// Executions is how often the work was done.
func (s *Server) Executions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.executed
}

var errNoOrder = errors.New("the last message is no order")

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	var c call
	if json.Unmarshal(body, &c) != nil {
		refuse(w, http.StatusBadRequest, "messages")
		return
	}
	key := r.Header.Get("Idempotency-Key")
	arrival := Request{Key: key, Model: c.Model, At: time.Now()}
	s.mu.Lock()
	s.requests = append(s.requests, &arrival)
	t, release, arrived := s.trouble, s.release, s.arrived
	s.mu.Unlock()
	if arrived != nil {
		arrived(arrival)
	}
	if t.status != 0 {
		refuse(w, t.status, "model")
		return
	}
	answer, err := s.execute(&arrival, key, c, body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "messages")
		return
	}
	if t.wait > 0 {
		select {
		case <-time.After(t.wait):
		case <-s.stop:
			return
		}
	}
	if t.hang {
		select {
		case <-release:
		case <-s.stop:
			return
		}
	}
	s.mu.Lock()
	if run := s.runs[key]; run != nil {
		run.body = answer
	}
	s.mu.Unlock()
	switch {
	case t.die:
		panic(http.ErrAbortHandler)
	case t.cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		w.Write(answer[:len(answer)/2])
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// execute does the work, or remembers it.
func (s *Server) execute(arrival *Request, key string, c call, body []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.runs[key]; run != nil && s.replays && run.body != nil {
		return run.body, nil
	}
	if s.lie == "caches" && s.cache[string(body)] != nil {
		return s.cache[string(body)], nil
	}
	s.executed++
	answer, err := c.answer(s.lie, s.executed)
	if err != nil {
		return nil, err
	}
	arrival.Executed = true
	s.cache[string(body)] = answer
	if key != "" && s.runs[key] == nil {
		s.runs[key] = &execution{}
	}
	return answer, nil
}

// lookUp says what became of a key: 404 if it never came, 202 while it runs.
func (s *Server) lookUp(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	s.mu.Lock()
	s.requests = append(s.requests, &Request{Key: key, At: time.Now(), Lookup: true})
	run, ok := s.runs[key]
	var body []byte
	if ok {
		body = run.body
	}
	s.mu.Unlock()
	switch {
	case !ok:
		http.NotFound(w, r)
	case body == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}
}

// refuse answers as the API does, with the parameter that is wrong.
func refuse(w http.ResponseWriter, status int, param string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "refused", "param": param}})
}
