package idempotency_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/idempotency"
)

// H1 to H4: what never becomes a job.
func rowRequestsWithoutAnIdentityMakeNoJob(w *world) {
	w.wrap(created)
	for name, row := range map[string]struct {
		r      request
		status int
		kind   string
	}{
		"H1 no key":                 {request{}, 400, "key-missing"},
		"H2 unterminated":           {request{keys: []string{`"k`}}, 400, "key-malformed"},
		"H2 after the string":       {request{keys: []string{`"k"x`}}, 400, "key-malformed"},
		"H2 bad escape":             {request{keys: []string{`"k\n"`}}, 400, "key-malformed"},
		"H2 not ASCII":              {request{keys: []string{"\"k\u00e9\""}}, 400, "key-malformed"},
		"H2 bare, not ASCII":        {request{keys: []string{"k\u00e9"}}, 400, "key-malformed"},
		"H2 tab inside":             {request{keys: []string{"\"k\tk\""}}, 400, "key-malformed"},
		"H2 empty":                  {request{keys: []string{""}}, 400, "key-malformed"},
		"H2 empty string":           {request{keys: []string{`""`}}, 400, "key-malformed"},
		"H2 number":                 {request{keys: []string{"42"}}, 400, "key-malformed"},
		"H2 decimal":                {request{keys: []string{"-4.2"}}, 400, "key-malformed"},
		"H2 boolean":                {request{keys: []string{"?1"}}, 400, "key-malformed"},
		"H2 bytes":                  {request{keys: []string{":aGk=:"}}, 400, "key-malformed"},
		"H2 date":                   {request{keys: []string{"@1659578233"}}, 400, "key-malformed"},
		"H2 inner list":             {request{keys: []string{`("k" "l")`}}, 400, "key-malformed"},
		"H2 bare with a space":      {request{keys: []string{"k k"}}, 400, "key-malformed"},
		"H2 bare, with a semicolon": {request{keys: []string{"order;pen"}}, 400, "key-malformed"},
		"H2 parameters alone":       {request{keys: []string{";p=1"}}, 400, "key-malformed"},
		"H2 bad parameters":         {request{keys: []string{`"k";`}}, 400, "key-malformed"},
		"H2b two lines":             {request{keys: []string{`"k"`, `"k"`}}, 400, "key-malformed"},
		"H2b a list":                {request{keys: []string{`"k", "l"`}}, 400, "key-malformed"},
		"H2b a bare list":           {request{keys: []string{`k,l`}}, 400, "key-malformed"},
		"H3 too long":               {request{keys: []string{`"` + strings.Repeat("k", 256) + `"`}}, 400, "key-too-long"},
		"H3 bare and too long":      {request{keys: []string{strings.Repeat("k", 256)}}, 400, "key-too-long"},
		"H3b body too large":        {request{keys: []string{`"k"`}, body: `"` + strings.Repeat("x", 1<<20) + `"`}, 413, "body-too-large"},
		"H4 nobody":                 {request{keys: []string{`"k"`}, user: "-"}, 401, "owner-missing"},
		"H4 nobody, bad key":        {request{keys: []string{`"k`}, user: "-"}, 401, "owner-missing"},
		"body is no JSON":           {request{keys: []string{`"k"`}, body: `{"a":1,"a":2}`}, 400, "request-invalid"},
		"compressed and no gzip":    {request{keys: []string{`"k"`}, header: http.Header{"Content-Encoding": {"gzip"}}}, 400, "request-invalid"},
		"owner is out of bounds":    {request{keys: []string{`"k"`}, user: strings.Repeat("u", 129)}, 400, "request-invalid"},
		"params over the library":   {request{keys: []string{`"k"`}, body: `"` + strings.Repeat("x", 300<<10) + `"`}, 400, "request-invalid"},
	} {
		a := w.send(row.r)
		w.problem(a, row.status, row.kind)
		require.Empty(w, a.Header.Get("Location"), name)
		if row.kind == "key-missing" {
			require.Contains(w, a.Header.Get("Link"), `rel="describedby"`)
		}
		require.Zero(w, w.runs.Load(), name)
	}
	w.noJob("user-7", "k")
}

// H1b: no identity is invented.
func rowAKeyMayBeOptional(w *world) {
	w.wrap(created, func(o *idempotency.Options) { o.Optional = true })
	for range 2 {
		a := w.send(request{user: "-"})
		require.Equal(w, http.StatusCreated, a.StatusCode)
		require.Equal(w, "session=canary", a.Header.Get("Set-Cookie"), "it is the handler's own answer")
	}
	require.Equal(w, int64(2), w.runs.Load())
	for range 2 {
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
	}
	require.Equal(w, int64(3), w.runs.Load())
	w.problem(w.send(request{keys: []string{""}}), 400, "key-malformed")
}

func TestOtherMethodsPass(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(created)
		for range 2 {
			require.Equal(w, http.StatusCreated, w.send(request{method: http.MethodGet, user: "-"}).StatusCode)
		}
		require.Equal(w, int64(2), w.runs.Load())
	})
}

// H2c, H2d: the same identity, however it is written.
func rowOneKeyInManySpellings(w *world) {
	w.wrap(created)
	for _, spelling := range []string{`"k-1"`, `k-1`, `"k-1";p=1`, `"k-1"; a; b="c\"d" ;`[:18], ` "k-1" `} {
		require.Equal(w, http.StatusCreated, w.send(request{keys: []string{spelling}}).StatusCode, spelling)
	}
	require.Equal(w, int64(1), w.runs.Load())
	for _, spelling := range []string{`"a\"b\\c"`, `8e03978e-40d5-43dd-bc93-6894a57f9324`, `"` + strings.Repeat("k", 255) + `"`, `"a, b; (c)"`, `a:b/c=d`} {
		require.Equal(w, http.StatusCreated, w.send(request{keys: []string{spelling}}).StatusCode, spelling)
	}
	require.Equal(w, int64(6), w.runs.Load())
	w.only("user-7", `a"b\c`)
	w.only("user-7", `a, b; (c)`)
}

func TestStrictKeysAreQuoted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(created, func(o *idempotency.Options) { o.Strict = true })
		w.problem(w.send(request{keys: []string{"k"}}), 400, "key-malformed")
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
	})
}
