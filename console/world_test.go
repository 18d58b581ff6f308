package console_test

import (
	"context"
	"database/sql"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a store, a host that mounts the console under /ops/, and a browser.
type world struct {
	*testing.T
	jobs *onejob.Jobs
	op   *onejob.Operator
	db   *sql.DB // PostgreSQL's
	opts console.Options
	host *httptest.Server
}

// onBoth runs a test on both stores. host is the host's own options.
func onBoth(t *testing.T, host *onejob.Options, test func(w *world)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
		store, err := onejob.NewPostgresStore(db, nil)
		require.NoError(t, err)
		test(newWorld(t, onejob.New(store, host), db))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(newWorld(t, onejob.New(dbtest.SQLite(t), host), nil))
	})
}

func newWorld(t *testing.T, jobs *onejob.Jobs, db *sql.DB) *world {
	return &world{T: t, jobs: jobs, op: onejob.NewOperator(jobs), db: db}
}

// serve mounts the console as a host does.
func (w *world) serve() {
	w.Helper()
	c, err := console.New(w.jobs, &w.opts)
	require.NoError(w, err)
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", c))
	w.host = httptest.NewServer(mux)
	w.Cleanup(w.host.Close)
}

// begin starts an attempt that has time.
func (w *world) begin(key, provider string) onejob.Attempt {
	w.Helper()
	_, a, err := w.jobs.Start(w.Context(), onejob.Intent{Owner: "user-7", Key: key, Kind: "charge"},
		onejob.Try{Provider: provider, Timeout: time.Hour})
	require.NoError(w, err)
	return a
}

// doubt is an attempt of unknown fate.
func (w *world) doubt(key string) onejob.Attempt {
	w.Helper()
	a := w.begin(key, "acme-pay")
	_, err := w.jobs.MarkUnknown(w.Context(), a, io.ErrUnexpectedEOF)
	require.NoError(w, err)
	return a
}

// race is a job whose first attempt came second.
func (w *world) race(key string) onejob.Attempt {
	w.Helper()
	a := w.begin(key, "acme-pay")
	job, err := w.op.DetachAttempt(w.Context(), a.ID, onejob.Decision{By: "ada", Reason: "waits at the counter"})
	require.NoError(w, err)
	b, err := w.jobs.BeginAttempt(w.Context(), job, onejob.Try{Provider: "fallback-pay", Timeout: time.Hour})
	require.NoError(w, err)
	_, err = w.jobs.Complete(w.Context(), b, []byte(`"fallback"`))
	require.NoError(w, err)
	_, err = w.jobs.Complete(w.Context(), a, []byte(`"primary, late"`))
	require.ErrorIs(w, err, onejob.ErrLateResult)
	return a
}

// stands is the attempt as it is.
func (w *world) stands(id onejob.AttemptID) (onejob.Job, onejob.Attempt) {
	w.Helper()
	job, a, err := w.jobs.GetAttempt(context.Background(), id)
	require.NoError(w, err)
	return job, a
}

// answer is a response that was read.
type answer struct {
	*http.Response
	text string
}

var browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (w *world) send(method, path string, form url.Values, header ...string) answer {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.host.URL+"/ops/"+path, strings.NewReader(form.Encode()))
	require.NoError(w, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := browser.Do(req)
	require.NoError(w, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	return answer{resp, string(text)}
}

func (w *world) get(path string) answer {
	w.Helper()
	return w.send(http.MethodGet, path, nil)
}

// post sends a form as a browser does from the console's own page.
func (w *world) post(path string, form url.Values) answer {
	w.Helper()
	return w.send(http.MethodPost, path, form, "Sec-Fetch-Site", "same-origin")
}

// page is that the answer is a whole page with a status and what is in it.
func (w *world) page(a answer, status int, holds ...string) answer {
	w.Helper()
	require.Equal(w, status, a.StatusCode, a.text)
	require.Contains(w, a.text, "</html>")
	for _, text := range holds {
		require.Contains(w, html.UnescapeString(a.text), text)
	}
	return a
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// fields are what a page's form brings back by itself.
func fields(a answer) url.Values {
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(a.text, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form
}

// review goes through the form to the page that asks again, and returns its
// fields as its first button sends them.
func (w *world) review(path string, entered url.Values) url.Values {
	w.Helper()
	form := fields(w.page(w.get(path), http.StatusOK))
	require.NotEmpty(w, form.Get("seen"))
	form.Set("step", "review")
	for name, values := range entered {
		form[name] = values
	}
	form = fields(w.page(w.post(path, form), http.StatusOK, "Are you sure?"))
	form.Set("step", "apply")
	return form
}

// says is what an operator enters.
func says(by, reason string) url.Values { return url.Values{"by": {by}, "reason": {reason}} }
