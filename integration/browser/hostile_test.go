package browser

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// hostile would run where it were taken for markup; the window's name tells.
const hostile = `"'></title></pre></textarea><script>window.name="ran"</script><svg/onload=name="ran"><img src=x onerror=name="ran">` + "\u202e"

// Nothing runs and nothing is fetched, whatever was stored.
func TestHostileTextIsShownAndDoesNotRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		o.opts.ShowPayloads = func(*http.Request) bool { return true }
		name := `<script>name="ran"</script>` + "\u202e<img src=x>"
		_, a, err := o.jobs.Start(o.Context(), onejob.Intent{Owner: hostile[:110], Key: hostile, Kind: name, Target: name, Params: []byte(hostile), Opaque: true},
			onejob.Try{Provider: name, Timeout: time.Hour})
		require.NoError(o, err)
		_, err = o.jobs.SetExternalRef(o.Context(), a, `javascript:name="ran"`)
		require.NoError(o, err)
		_, err = o.jobs.MarkUnknown(o.Context(), a, errors.New(hostile+strings.Repeat("long", 900)))
		require.NoError(o, err)
		w := o.open()
		w.size(360, 800)
		job := "/ops/jobs/" + string(a.JobID)
		for _, path := range []string{"/ops/", "/ops/attempts", "/ops/attempts?owner=%3Cscript%3Ename%3D%22ran%22%3C%2Fscript%3E", job} {
			w.visit(path)
			w.sound()
		}
		w.shows(`<script>name="ran"</script>`, `\u{202E}`, `javascript:name="ran"`)
		require.Zero(o, eval[int](w, `document.querySelectorAll('a[href^="javascript"], main script, main img').length`))
		w.click("Confirm: it happened")
		w.do(w.on0("Text"))
		for _, field := range []string{"result", "reason"} {
			w.enter(field, strings.TrimSuffix(hostile, "\u202e"))
		}
		w.enter("by", `<b>ada</b>`)
		w.click("Review")
		w.sound()
		w.click("Change what I entered")
		w.sound()
		w.click("Review")
		w.click("Yes, it happened")
		w.sound()
		w.shows(`<b>ada</b>`, `<svg/onload=name="ran">`)
		require.Empty(o, eval[string](w, "window.name"), "it ran")
		done, now := o.stands(a.ID)
		require.Equal(o, strings.TrimSuffix(hostile, "\u202e"), string(done.Result))
		require.Equal(o, "<b>ada</b>", now.By)
	})
}
