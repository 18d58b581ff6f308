package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a store, a service before it and a client.
type world struct {
	*testing.T
	store onejob.Store
	jobs  *onejob.Jobs
	op    *onejob.Operator
	runs  atomic.Int64 // of the handler
	logs  *dbtest.Log
	url   string
}

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dbtest.PostgresDSN(t)), nil)
		require.NoError(t, err)
		test(newWorld(t, store))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := onejob.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "onejob.db"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		require.NoError(t, store.Migrate(t.Context()))
		test(newWorld(t, store))
	})
}

func newWorld(t *testing.T, store onejob.Store) *world {
	jobs := onejob.New(store, nil)
	return &world{T: t, store: store, jobs: jobs, op: onejob.NewOperator(jobs), logs: new(dbtest.Log)}
}

var errNobody = errors.New("nobody")

// options are those of the service: its owner is who the client says it is.
func (w *world) options() idempotency.Options {
	return idempotency.Options{
		Kind: "order", Timeout: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(w.logs, nil)),
		Owner: func(r *http.Request) (string, error) {
			if r.Header.Get("X-User") == "" {
				return "", errNobody
			}
			return r.Header.Get("X-User"), nil
		},
	}
}

func (w *world) layer(change ...func(o *idempotency.Options)) *idempotency.Layer {
	w.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	l, err := idempotency.New(w.jobs, o)
	require.NoError(w, err)
	return l
}

// serve starts a real server with the jobs' addresses under the layer.
func (w *world) serve(l *idempotency.Layer, h http.Handler) {
	mux := http.NewServeMux()
	mux.Handle("/orders", h)
	mux.Handle("/orders/", h)
	mux.Handle("GET /jobs/{id}", l.Job())
	s := httptest.NewServer(mux)
	w.Cleanup(s.Close)
	w.url = s.URL
}

// wrap serves a handler in Wrap mode, and counts its runs.
func (w *world) wrap(handler http.HandlerFunc, change ...func(o *idempotency.Options)) {
	w.Helper()
	l := w.layer(change...)
	w.serve(l, l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.runs.Add(1)
		handler(rw, r)
	})))
}

func (w *world) create(change ...func(o *idempotency.Options)) {
	w.Helper()
	l := w.layer(change...)
	w.serve(l, l.Create())
}

// answer is a response that was read.
type answer struct {
	*http.Response
	text string
}

// request is one of the client's; fields that are empty have their defaults.
type request struct {
	method, path, body, media, user string
	keys                            []string // header lines
	header                          http.Header
}

func key(k string) request { return request{keys: []string{`"` + k + `"`}} }

func (w *world) send(r request) answer {
	w.Helper()
	a, err := w.try(w.Context(), r)
	require.NoError(w, err)
	return a
}

func (w *world) try(ctx context.Context, r request) (answer, error) {
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	body := r.body
	if body == "" && r.method != http.MethodGet {
		body = `{"item":"pen"}`
	}
	req, err := http.NewRequestWithContext(ctx, or(r.method, http.MethodPost), w.url+or(r.path, "/orders"), strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.GetBody = nil // net/http would repeat what carries a key by itself
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.user != "-" {
		req.Header.Set("X-User", or(r.user, "user-7"))
	}
	req.Header.Set("Content-Type", or(r.media, "application/json"))
	req.Header["Idempotency-Key"] = r.keys
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp, string(text)}, err
}

// problem is that the answer is one of that type, with its status.
func (w *world) problem(a answer, status int, kind string) {
	w.Helper()
	require.Equal(w, status, a.StatusCode, a.text)
	require.Equal(w, "application/problem+json", a.Header.Get("Content-Type"))
	var p struct {
		Type, Title, Detail string
		Status              int
		Job                 string
	}
	require.NoError(w, json.Unmarshal([]byte(a.text), &p))
	require.Equal(w, status, p.Status)
	require.True(w, strings.HasSuffix(p.Type, "#problem-"+kind), "%s is no %s", p.Type, kind)
	require.NotEmpty(w, p.Title)
	require.Equal(w, "no-store", a.Header.Get("Cache-Control"))
}

type jobView struct {
	ID     string
	State  string
	Result json.RawMessage
}

func (w *world) job(a answer) (j jobView) {
	w.Helper()
	require.NoError(w, json.Unmarshal([]byte(a.text), &j), a.text)
	return j
}

// only is the one job that there is.
func (w *world) only(user, key string) onejob.Job {
	w.Helper()
	job, err := w.jobs.GetByKey(w.Context(), user, key)
	require.NoError(w, err)
	return job
}

func (w *world) noJob(user, key string) {
	w.Helper()
	_, err := w.jobs.GetByKey(w.Context(), user, key)
	require.ErrorIs(w, err, onejob.ErrNotFound)
}

// created answers as a service does that has made an order.
func created(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Location", "/orders/17")
	w.Header().Set("Set-Cookie", "session=canary")
	w.Header().Set("X-Request-Id", "r-1")
	w.Header().Set("Etag", `"e"`)
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, "{\"order\":17}\n")
}
