package console_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// hostile is what somebody puts where a name is expected.
const hostile = "\"'><script>boom()</script><svg onload=boom()>{{.}}\u202e\u200bjavascript:boom()"

var inFields = regexp.MustCompile(`value="[^"]*"|<textarea[^>]*>[^<]*</textarea>`)

// Nothing that was stored is markup, wherever it stands.
func TestWhatWasStoredIsShownAsText(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.opts.ShowPayloads = func(*http.Request) bool { return true }
		w.serve()
		name := hostile[:60]
		_, a, err := w.jobs.Start(w.Context(), onejob.Intent{Owner: hostile, Key: hostile, Kind: name, Target: name, Params: []byte(hostile), Opaque: true},
			onejob.Try{Provider: name, Timeout: time.Hour})
		require.NoError(w, err)
		_, err = w.jobs.SetExternalRef(w.Context(), a, "javascript:"+hostile)
		require.NoError(w, err)
		_, err = w.jobs.MarkUnknown(w.Context(), a, errors.New(hostile+strings.Repeat("long", 500)))
		require.NoError(w, err)
		pages := []answer{
			w.get(""), w.get("attempts"), w.get("jobs/" + string(a.JobID)), w.get("attempts/" + string(a.ID) + "/confirm"),
			w.post("find", map[string][]string{"owner": {hostile}, "key": {hostile + "2"}}),
		}
		path := "attempts/" + string(a.ID) + "/confirm"
		entered := says(hostile, hostile)
		entered.Set("kind", "text")
		entered.Set("result", hostile)
		form := w.review(path, entered)
		pages = append(pages, w.post(path, with(form, "step", "edit")), w.post(path, with(form, "step", "review")))
		require.Equal(w, http.StatusSeeOther, w.post(path, with(form, "step", "apply")).StatusCode)
		pages = append(pages, w.get("jobs/"+string(a.JobID)+"?done="+hostile[:9]), w.get(path))
		job, now := w.stands(a.ID)
		require.Equal(w, hostile, string(job.Result))
		require.Equal(w, hostile, now.Reason)
		for i, page := range pages {
			require.NotContains(w, page.text, "<script", i)
			require.NotContains(w, page.text, "<svg onload", i)
			require.NotRegexp(w, `(href|src|action)="?javascript`, page.text, i)
			require.NotContains(w, strings.ReplaceAll(page.text, `value="`, ""), "\"'><", i)
			// Fields of forms bring back what was entered as it was.
			require.NotContains(w, inFields.ReplaceAllString(page.text, ""), "\u202e", i)
		}
		require.Contains(w, pages[2].text, `&lt;script&gt;`)
		require.Contains(w, pages[2].text, `\u{202E}\u{200B}javascript:boom()`)
	})
}

func with(form map[string][]string, name, value string) map[string][]string {
	form[name] = []string{value}
	return form
}
