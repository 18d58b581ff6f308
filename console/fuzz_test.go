package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/console"
	"github.com/onejob-go/onejob/onejobtest"
)

// Whatever is asked: a page, or a redirect that stays in the console.
func FuzzAnyRequestGetsAPage(f *testing.F) {
	id := "01900000-0000-7000-8000-000000000000"
	for _, path := range []string{"", "/", "//", "/attempts", "/jobs/" + id, "/jobs/" + id + "/cancel", "/find", "/attempts/" + id + "-0123456789abcdef/confirm", "/assets/console.css", "/%2e%2e/x"} {
		f.Add("GET", path, "state=late&after=1~x&before=2")
		f.Add("POST", path, "step=apply&by=a&reason=b&kind=json&encoded=MQ==&seen=open/open&id="+id)
	}
	env := onejobtest.New(f, nil)
	c, err := console.New(env.Jobs, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, method, path, query string) {
		u, err := url.Parse("http://host/" + strings.TrimPrefix(path, "/"))
		if err != nil || method != "GET" && method != "POST" {
			return
		}
		u.RawQuery = query
		r := &http.Request{Method: method, URL: u, Host: "host", RequestURI: u.RequestURI(), Header: http.Header{}, Body: http.NoBody}
		if method == http.MethodPost {
			r = httptest.NewRequest(method, "http://host/", strings.NewReader(query))
			r.URL = u
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		require.Less(t, w.Code, 500, w.Body)
		require.NotEmpty(t, w.Header().Get("Content-Security-Policy"))
		if w.Code == http.StatusSeeOther {
			require.Regexp(t, `^\.\.?/`, w.Header().Get("Location"))
		}
	})
}
