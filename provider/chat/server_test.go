package chat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat"
)

const canary = "canary"

// server remembers what arrives, and answers as reply says.
type server struct {
	*testing.T
	url   string
	reply func(w http.ResponseWriter, body map[string]any)

	mu       sync.Mutex
	requests []arrival
}

type arrival struct {
	method, path string
	header       http.Header
	body         string
}

// hello is a whole completion.
const hello = `{"id":"run-1","model":"large-2","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}`

func says(status int, text string) func(w http.ResponseWriter, body map[string]any) {
	return func(w http.ResponseWriter, _ map[string]any) {
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func serve(t *testing.T, reply func(w http.ResponseWriter, body map[string]any)) *server {
	t.Helper()
	s := &server{T: t, reply: reply}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL + "/v1/chat/completions"
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, arrival{r.Method, r.URL.Path, r.Header.Clone(), string(text)})
	s.mu.Unlock()
	var body map[string]any
	if json.Unmarshal(text, &body) != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.reply(w, body)
}

// seen are the requests so far.
func (s *server) seen() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]arrival(nil), s.requests...)
}

// one is the only request.
func (s *server) one() arrival {
	s.Helper()
	list := s.seen()
	require.Len(s, list, 1)
	return list[0]
}

// config is the least that is needed, and a client with no proxy of the
// machine's.
func (s *server) config(change ...func(c *chat.Config)) chat.Config {
	c := chat.Config{Name: "acme", URL: s.url, Model: "large-2", Client: &http.Client{Transport: &http.Transport{}}}
	s.Cleanup(c.Client.CloseIdleConnections)
	for _, f := range change {
		f(&c)
	}
	return c
}

func (s *server) provider(change ...func(c *chat.Config)) *chat.Provider {
	s.Helper()
	p, err := chat.New(s.config(change...))
	require.NoError(s, err)
	return p
}

// request asks with a key, which not everybody sends.
func request(params string) provider.Request {
	return provider.Request{
		Job:     onejob.Job{Intent: onejob.Intent{Params: []byte(params)}},
		Attempt: onejob.Attempt{ProviderKey: "0123456789abcdef0123456789abcdef"},
	}
}

func fresh(params string) provider.Request {
	r := request(params)
	r.Fresh = true
	return r
}

func ptr[T any](v T) *T { return &v }
