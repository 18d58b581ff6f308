package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
)

func TestADecisionFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.opts.TrustedOrigins = []string{"http://ops.example.com:8080"}
		w.serve()
		for name, c := range map[string]struct {
			header []string
			taken  bool
		}{
			"another site":                 {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
			"a neighbour":                  {[]string{"Sec-Fetch-Site", "same-site", "Origin", "https://evil.example.com"}, false},
			"another site, plain HTTP":     {[]string{"Origin", "http://evil.example"}, false},
			"a sandboxed frame":            {[]string{"Origin", "null"}, false},
			"a proxy took both off":        {nil, false},
			"another port of the host":     {[]string{"Origin", strings.Replace(w.host.URL, "127.0.0.1:", "127.0.0.1:1", 1)}, false},
			"the console":                  {[]string{"Sec-Fetch-Site", "same-origin", "Origin", "https://ops.example.com"}, true},
			"the console, plain HTTP":      {[]string{"Origin", w.host.URL}, true},
			"an origin that is trusted":    {[]string{"Origin", "http://ops.example.com:8080"}, true},
			"the same on another port":     {[]string{"Origin", "http://ops.example.com"}, false},
			"an address that was typed in": {[]string{"Sec-Fetch-Site", "none"}, true},
		} {
			a := w.doubt(name)
			path := "attempts/" + string(a.ID) + "/refute"
			form := w.review(path, says("ada", "voided"))
			told := w.send(http.MethodPost, path, form, c.header...)
			_, now := w.stands(a.ID)
			if c.taken {
				require.Equal(w, http.StatusSeeOther, told.StatusCode, name)
				require.Equal(w, onejob.StateFailed, now.State, name)
				continue
			}
			w.page(told, http.StatusForbidden, "Nothing was done")
			require.Equal(w, onejob.StateUnknown, now.State, name)
		}
	})
}

// A link, an image or a prefetch asks with GET, and decides nothing.
func TestNothingIsDecidedByAnAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		path := "attempts/" + string(a.ID) + "/refute"
		form := w.review(path, says("ada", "voided"))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			require.Equal(w, http.StatusOK, w.send(method, path+"?"+form.Encode(), nil).StatusCode)
		}
		form.Del("step")
		w.page(w.post(path+"?step=apply", form), http.StatusOK, "Are you sure?") // what is in the address does not count
		_, now := w.stands(a.ID)
		require.Equal(w, onejob.StateUnknown, now.State)
	})
}

func TestWhoMayNotDecideIsOfferedNothing(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]console.Options{
		"read-only":   {ReadOnly: true},
		"not allowed": {Allow: func(r *http.Request) bool { return false }},
		"nameless":    {By: func(*http.Request) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, nil, func(w *world) {
				w.opts = opts
				w.serve()
				a := w.doubt("k")
				page := w.page(w.get("jobs/"+string(a.JobID)), http.StatusOK, "Read-only").text
				for _, action := range []string{"confirm", "refute", "detach", "cancel"} {
					path := "attempts/" + string(a.ID) + "/" + action
					require.NotContains(w, page, path)
					w.page(w.get(path), http.StatusForbidden)
					form := says("ada", "voided")
					form.Set("step", "apply")
					form.Set("seen", "open/open")
					w.page(w.post(path, form), http.StatusForbidden, "read-only for you")
				}
				w.page(w.post("jobs/"+string(a.JobID)+"/cancel", says("ada", "r")), http.StatusForbidden)
				job, now := w.stands(a.ID)
				require.Equal(w, onejob.StateUnknown, now.State)
				require.Equal(w, onejob.JobOpen, job.State)
			})
		})
	}
}

// The name is the login's, whatever a form says.
func TestTheNameOfTheLoginCannotBeEdited(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.opts.By = func(*http.Request) string { return "ada@example.com" }
		w.serve()
		a := w.doubt("k")
		path := "attempts/" + string(a.ID) + "/refute"
		page := w.page(w.get(path), http.StatusOK, "ada@example.com", "you are logged in as this")
		require.NotContains(w, page.text, `name="by"`)
		form := w.review(path, says("mallory", "voided"))
		form.Set("by", "mallory")
		require.Equal(w, http.StatusSeeOther, w.post(path, form).StatusCode)
		_, now := w.stands(a.ID)
		require.Equal(w, "ada@example.com", now.By)
	})
}
