package console_test

import (
	"fmt"
	"html"
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
	"github.com/onejob-go/onejob/onejobtest"
)

func TestNoPageLetsAnythingRunOrBeKept(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		for path, status := range map[string]int{
			"": 200, "attempts": 200, "find": 200, "jobs/" + string(a.JobID): 200,
			"attempts/" + string(a.ID) + "/confirm": 200, "jobs/" + string(a.JobID) + "/cancel": 200,
			"attempts/" + string(a.ID): 303, "nothing": 404, "assets/console.css": 200, "assets/none": 404,
		} {
			h := w.get(path)
			require.Equal(w, status, h.StatusCode, path)
			require.Equal(w, "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
				h.Header.Get("Content-Security-Policy"))
			require.Equal(w, "nosniff", h.Header.Get("X-Content-Type-Options"))
			require.Equal(w, "DENY", h.Header.Get("X-Frame-Options"))
			require.Equal(w, "same-origin", h.Header.Get("Referrer-Policy"))
			require.NotRegexp(w, `(?i)<script|<style|\sstyle=|\son[a-z]+=|javascript:|https?://`, h.text, path)
			if path == "assets/console.css" {
				require.Equal(w, "private, max-age=86400", h.Header.Get("Cache-Control"))
				continue
			}
			require.Equal(w, "no-store", h.Header.Get("Cache-Control"), path)
			require.Empty(w, w.send(http.MethodHead, path, nil).text)
		}
	})
}

func TestWhatIsNotThereIsAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		none := "01900000-0000-7000-8000-000000000000"
		for _, path := range []string{
			"x", "jobs/" + none, "jobs/x", "jobs/" + strings.ToUpper(none), "jobs/", "attempts/x", "attempts/x/confirm",
			"attempts/" + none + "-0123456789abcdef/refute", "attempts/" + none + "-0123456789abcdef/destroy",
			"jobs/" + none + "/cancel", "assets/", "assets/..%2fconsole.go", "jobs/x/y/z",
		} {
			w.page(w.get(path), http.StatusNotFound, "Not found", "To the overview")
		}
		for _, path := range []string{"", "attempts", "jobs/" + none, "assets/console.css"} {
			a := w.page(w.post(path, nil), http.StatusMethodNotAllowed)
			require.Equal(w, "GET, HEAD", a.Header.Get("Allow"))
		}
		require.Equal(w, "GET, HEAD, POST", w.page(w.send("DELETE", "", nil), http.StatusMethodNotAllowed).Header.Get("Allow"))
	})
}

// links are where a page leads.
func links(w *world, page answer) (paths []string) {
	w.Helper()
	at := page.Request.URL
	for _, m := range regexp.MustCompile(`(?:href|action)="([^"#]+)"`).FindAllStringSubmatch(page.text, -1) {
		to, err := at.Parse(html.UnescapeString(m[1]))
		require.NoError(w, err)
		paths = append(paths, to.RequestURI())
	}
	return paths
}

// Wherever it is mounted: each link of each page leads to a page.
func TestAllLinksWorkUnderThePrefix(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		w.race("race")
		w.doubt("k")
		seen := map[string]bool{}
		todo := []string{"/ops/"}
		for len(todo) > 0 {
			path := todo[0]
			todo = todo[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			require.True(w, strings.HasPrefix(path, "/ops/"), path)
			page := w.get(strings.TrimPrefix(path, "/ops/"))
			require.Equal(w, http.StatusOK, page.StatusCode, path)
			todo = append(todo, links(w, page)...)
		}
		require.Greater(w, len(seen), 15, seen)
	})
	env := onejobtest.New(t, nil)
	c, err := console.New(env.Jobs, nil)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/a/b", http.StripPrefix("/a/b", c)) // without the slash that links need
	host := httptest.NewServer(mux)
	t.Cleanup(host.Close)
	resp, err := browser.Get(host.URL + "/a/b")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, "./b/", resp.Header.Get("Location"))
}

func TestJobsAreFoundByIDAttemptAndKey(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("order 7&<")
		for _, form := range []url.Values{
			{"id": {string(a.JobID)}}, {"id": {" " + strings.ToUpper(string(a.ID)) + "\t"}},
			{"owner": {"user-7"}, "key": {"order 7&<"}},
		} {
			found := w.post("find", form)
			require.Equal(w, http.StatusSeeOther, found.StatusCode, found.text)
			require.Equal(w, "./jobs/"+string(a.JobID), found.Header.Get("Location"))
		}
		require.Equal(w, "../jobs/"+string(a.JobID), w.get("attempts/"+string(a.ID)).Header.Get("Location"))
		w.page(w.post("find", url.Values{"owner": {"user-8"}, "key": {"order 7&<"}}), http.StatusNotFound, "There is no such job.", `value="user-8"`)
		w.page(w.post("find", url.Values{"id": {"x"}}), http.StatusNotFound, "There is no such job.")
		w.page(w.post("find", url.Values{"owner": {"user-7"}}), http.StatusUnprocessableEntity, "both an owner and a key")
		w.page(w.post("find", url.Values{"owner": {strings.Repeat("o", 200)}, "key": {"k"}}), http.StatusUnprocessableEntity,
			"The owner has 200 bytes, the limit is 128.")
	})
}

func TestTheListIsFiltered(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		ids := map[string]onejob.JobID{
			"unknown": w.doubt("unknown").JobID, "started": w.begin("started", "other-pay").JobID, "late": w.race("late").JobID,
		}
		d := w.begin("detached", "acme-pay")
		_, err := w.op.DetachAttempt(w.Context(), d.ID, onejob.Decision{By: "ada", Reason: "r"})
		require.NoError(w, err)
		ids["detached"] = d.JobID
		for q, want := range map[string][]string{
			"":                                  {"unknown", "started", "detached"},
			"state=unknown":                     {"unknown"},
			"state=started&state=detached":      {"started", "detached"},
			"state=late":                        {"late"},
			"state=succeeded":                   {"unknown", "started", "detached"}, // not offered: it would read all attempts
			"provider=other-pay":                {"started"},
			"kind=charge":                       {"unknown", "started", "detached"},
			"kind=refund":                       {},
			"owner=user-7&state=unknown":        {"unknown"},
			"owner=user-8":                      {},
			"before=2000-01-01":                 {},
			"before=2999-01-01T00:00":           {"unknown", "started", "detached"},
			"before=+2999-01-01+00:00:00+":      {"unknown", "started", "detached"},
			"after=nonsense":                    {"unknown", "started", "detached"},
			"after=9999999999999999~nonsense":   {"unknown", "started", "detached"},
			"state=unknown&provider=no%3Cb%3Eb": {},
		} {
			page := w.page(w.get("attempts?"+q), http.StatusOK)
			for name, id := range ids {
				require.Equal(w, contains(want, name), strings.Contains(page.text, string(id)), "%q: %s", q, name)
			}
		}
		w.page(w.get("attempts?state=late&state=unknown"), http.StatusUnprocessableEntity, "Late results are listed by themselves")
		w.page(w.get("attempts?before=tomorrow"), http.StatusUnprocessableEntity, "2026-01-31 23:59")
		w.page(w.get("attempts?owner="+strings.Repeat("o", 129)), http.StatusUnprocessableEntity, "The owner has 129 bytes, the limit is 128.")
	})
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Pages go on behind the last attempt, not at an offset: what is decided while
// somebody reads hides nothing.
func TestNoAttemptIsSkippedWhereOthersAreDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		var all []onejob.Attempt
		for i := range 60 {
			all = append(all, w.begin(fmt.Sprint(i), "acme-pay"))
		}
		page := w.page(w.get("attempts?provider=acme-pay"), http.StatusOK, "50 on this page")
		for _, a := range all[:20] {
			_, err := w.op.Refute(w.Context(), a.ID, onejob.Decision{By: "ada", Reason: "r"})
			require.NoError(w, err)
		}
		next := regexp.MustCompile(`href="\./(attempts\?[^"]*)" rel="next"`).FindStringSubmatch(page.text)
		require.NotNil(w, next, page.text)
		second := w.page(w.get(html.UnescapeString(next[1])), http.StatusOK, "10 on this page", "First page")
		for _, a := range all[50:] {
			require.Contains(w, second.text, a.JobID)
		}
		require.NotContains(w, second.text, `rel="next"`)
	})
}

func TestPayloadsAreHiddenUnlessTheHostAllows(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.opts.ShowPayloads = func(r *http.Request) bool { return r.Header.Get("X-Role") == "support" }
		w.serve()
		params := []byte("\xff\x00\u202e" + strings.Repeat("x", 9000))
		_, a, err := w.jobs.Start(w.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "c", Params: params, Opaque: true},
			onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(w, err)
		_, err = w.jobs.Complete(w.Context(), a, []byte("</pre><script>canary</script>"))
		require.NoError(w, err)
		path := "jobs/" + string(a.JobID)
		page := w.page(w.get(path), http.StatusOK, "Params: 8.8 KiB. Result: 29 bytes", "not shown here")
		require.NotContains(w, page.text, "xxxxx")
		require.NotContains(w, page.text, "canary")
		page = w.send(http.MethodGet, path, nil, "X-Role", "support")
		w.page(page, http.StatusOK, `\xff\u{0000}\u{202E}xxxx`, "of which the first 8 KiB are shown")
		require.Contains(w, page.text, "&lt;/pre&gt;&lt;script&gt;canary&lt;/script&gt;")
		require.NotContains(w, page.text, strings.Repeat("x", 8<<10))
	})
}
