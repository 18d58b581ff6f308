package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// The walk of whoever is woken: from the overview to a job that is done.
func TestAStuckJobIsResolvedByClicks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		a := o.doubt("order-1042")
		w := o.open()
		w.visit("/ops/")
		w.shows("The oldest attempt in doubt began", "Its job is blocked until somebody knows or decides.")
		w.sound()
		w.click("Look at it")
		w.shows("unknown", "acme-pay", "order-1042", "Cause: unexpected EOF", "Confirm: it happened")
		w.sound()
		w.click("Confirm: it happened")
		w.sound()
		w.enter("result", `{"charge":"ch_1"}`)
		w.enter("by", "ada")
		w.enter("reason", "It is on their dashboard.")
		w.click("Review")
		w.shows("Are you sure?", "A completed job stays completed", `{"charge":"ch_1"}`, "It is on their dashboard.")
		w.sound()
		w.click("Yes, it happened: complete the job")
		w.shows("Done: the job is completed with the result that was confirmed.", "Decided by ada: It is on their dashboard.")
		w.sound()
		job, now := o.stands(a.ID)
		require.Equal(o, `{"charge":"ch_1"}`, string(job.Result))
		require.Equal(o, onejob.Decision{By: "ada", Reason: "It is on their dashboard."}, now.Decision)
		// Reloaded after the redirect, nothing is sent a second time.
		w.leads(http.StatusOK, chromedp.Reload())
		w.visit("/ops/")
		w.shows("Nothing is in doubt.")
	})
}

func TestEachDecisionByClicks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		w := o.open()
		for _, c := range []struct {
			link, yes, done string
			state           onejob.State
		}{
			{"Refute: it had no effect", "Yes, it had no effect", "Done: the attempt has failed", onejob.StateFailed},
			{"Cancel: it shall not win", "Yes, cancel the attempt", "Done: the attempt is canceled", onejob.StateCanceled},
			{"Detach: go on beside it", "Yes, go on beside it", "Done: the attempt blocks no longer", onejob.StateDetached},
			{"Cancel the job", "Yes, withdraw the intent", "Done: the intent is withdrawn.", onejob.StateUnknown},
		} {
			a := o.doubt(c.link)
			w.visit("/ops/find")
			w.sound()
			w.enter("owner", "user-7")
			w.enter("key", c.link)
			w.click("Find by key")
			w.click(c.link)
			w.enter("by", "ada")
			w.enter("reason", "because")
			w.click("Review")
			w.sound()
			w.click("Change what I entered")
			require.Equal(o, "because", eval[string](w, `document.querySelector("#reason").value`))
			w.click("Review")
			w.click(c.yes)
			w.shows(c.done, "ada", "because")
			w.sound()
			_, now := o.stands(a.ID)
			require.Equal(o, c.state, now.State)
		}
		w.visit("/ops/attempts?state=detached")
		w.shows("acme-pay", "1 on this page")
		w.sound()
	})
}

// A page on which somebody has slept decides nothing.
func TestAStalePageInTheBrowser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		a := o.doubt("k")
		w := o.open()
		w.visit("/ops/attempts/" + string(a.ID) + "/refute")
		w.enter("by", "ada")
		w.enter("reason", "nothing there")
		w.click("Review")
		_, err := o.jobs.Complete(o.Context(), a, []byte("1"))
		require.NoError(o, err)
		w.leads(http.StatusConflict, w.on("Yes, it had no effect"))
		w.shows("This has changed meanwhile", "Your decision was not stored")
		w.sound()
		w.click("Look at the job")
		w.shows("completed", "succeeded")
		w.leads(http.StatusNotFound, chromedp.Navigate(w.home+"/ops/nothing"))
		w.sound()
	})
}

// A double click sends a form twice; the decision is one.
func TestADoubleClickOnADecision(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		a := o.doubt("k")
		w := o.open()
		w.visit("/ops/attempts/" + string(a.ID) + "/refute")
		w.enter("by", "ada")
		w.enter("reason", "voided")
		w.click("Review")
		w.do(chromedp.DoubleClick(chromedp.CSS("button.danger")))
		w.until(`location.search === "?done=refute" && document.readyState === "complete"`)
		w.shows("Done: the attempt has failed", "Decided by ada: voided")
	})
}

// tabTo presses Tab until the focus is on what is called so. What has the focus
// must show it.
func (w *tab) tabTo(words string) {
	w.Helper()
	for range 60 {
		w.do(chromedp.KeyEvent(kb.Tab))
		focus := eval[[]string](w, `(() => {
			const el = document.activeElement, s = getComputedStyle(el), r = el.getBoundingClientRect();
			const label = el.labels && el.labels.length ? el.labels[0].innerText : el.innerText;
			return [label.trim(), s.outlineStyle, s.outlineWidth, String(r.width > 0 && r.bottom > 0 && r.top < innerHeight && r.left >= 0)];
		})()`)
		require.NotEqual(w, "none", focus[1], "%q has the focus and does not show it", focus[0])
		require.Equal(w, "3px", focus[2], focus[0])
		require.Equal(w, "true", focus[3], "%q has the focus out of sight", focus[0])
		if strings.HasPrefix(focus[0], words) {
			return
		}
	}
	require.Fail(w, "no way by keyboard to "+words)
}

func (w *tab) keys(text string) { w.Helper(); w.do(chromedp.KeyEvent(text)) }

func (w *tab) press(key string) { w.Helper(); w.leads(http.StatusOK, chromedp.KeyEvent(key)) }

func TestTheWalkByKeyboardAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		a := o.doubt("order-1042")
		w := o.open()
		w.visit("/ops/")
		w.tabTo("Skip to the content")
		w.keys(kb.Enter)
		w.until(`document.activeElement.id === "main"`)
		w.tabTo("Look at it")
		w.press(kb.Enter)
		w.tabTo("Confirm: it happened")
		w.press(kb.Enter)
		w.tabTo("JSON")
		w.keys(kb.ArrowRight) // Text
		w.tabTo("Result")
		w.keys("receipt 7")
		w.tabTo("Your name")
		w.keys("ada")
		w.tabTo("Reason")
		w.keys("seen")
		w.tabTo("Review")
		w.press(kb.Enter)
		w.tabTo("Yes, it happened")
		w.press(" ")
		w.shows("Done: the job is completed")
		job, now := o.stands(a.ID)
		require.Equal(o, "receipt 7", string(job.Result))
		require.Equal(o, "ada", now.By)
	})
}

// Over plain HTTP a browser says nothing of where a form was but its origin, and a
// Referrer-Policy of no-referrer would take that away too.
func TestDecisionsWorkOverPlainHTTPAndNotFromElsewhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(o *ops) {
		a := o.doubt("k")
		w := o.open()
		w.home = strings.Replace(o.url, "127.0.0.1", "console.test", 1)
		w.visit("/ops/attempts/" + string(a.ID) + "/refute")
		require.False(o, eval[bool](w, "isSecureContext"), "the browser trusts this name, so it shows nothing")
		w.enter("by", "ada")
		w.enter("reason", "voided")
		w.click("Review")
		w.click("Yes, it had no effect")
		_, now := o.stands(a.ID)
		require.Equal(o, onejob.StateFailed, now.State)

		b := o.doubt("forged")
		for _, host := range []string{"evil.test", "127.0.0.1"} {
			target := strings.Replace(o.url, "127.0.0.1", "console.test", 1)
			if host == "127.0.0.1" { // a trusted name: here the browser sends Sec-Fetch-Site
				target = o.url
			}
			evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, `<!doctype html><title>x</title><link rel="icon" href="data:,"><form method="post" action="%s/ops/attempts/%s/refute">
					<input name="by" value="mallory"><input name="reason" value="r"><input name="seen" value="open/open">
					<button name="step" value="apply">A kitten</button></form>`, target, b.ID)
			}))
			o.Cleanup(evil.Close)
			v := open(o.T, strings.Replace(evil.URL, "127.0.0.1", host, 1))
			v.visit("/")
			v.home = target
			v.leads(http.StatusForbidden, v.on("A kitten"))
			v.shows("Refused: where did this come from?")
			_, now = o.stands(b.ID)
			require.Equal(o, onejob.StateUnknown, now.State)
		}
	})
}

// A page may not be put into another one's frame, where a click could be stolen.
func TestTheConsoleIsShownInNoFrame(t *testing.T) {
	t.Parallel()
	o, _ := still(t)
	w := o.open()
	host := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!doctype html><title>x</title><link rel="icon" href="data:,"><iframe id="f" src="%s/ops/"></iframe>`, o.url)
	}))
	t.Cleanup(host.Close)
	w.do(chromedp.Navigate(host.URL))
	w.until(`document.readyState === "complete"`)
	require.True(t, eval[bool](w, `(() => { try { return document.querySelector("#f").contentDocument === null } catch { return true } })()`))
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Contains(t, fmt.Sprint(w.wrong), "frame", "the browser has refused it")
	w.wrong = nil
}

func TestNothingSticksOutOfAPhone(t *testing.T) {
	t.Parallel()
	o, env := still(t)
	o.opts.ShowPayloads = func(*http.Request) bool { return true }
	long := strings.Repeat("W", 63)
	a := o.begin(strings.Repeat("K", 255), long, 10*time.Second)
	env.Advance(3 * 24 * time.Hour)
	b := o.begin("race", "acme-pay", 10*time.Second)
	job, err := o.op.DetachAttempt(t.Context(), b.ID, onejob.Decision{By: strings.Repeat("B", 128), Reason: strings.Repeat("R", 4000)})
	require.NoError(t, err)
	c, err := o.jobs.BeginAttempt(t.Context(), job, onejob.Try{Provider: long, Timeout: time.Minute})
	require.NoError(t, err)
	_, err = o.jobs.Complete(t.Context(), c, []byte(strings.Repeat("x", 5000)))
	require.NoError(t, err)
	env.Advance(time.Second)
	_, err = o.jobs.Complete(t.Context(), b, []byte("late"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	w := o.open()
	for _, scheme := range []string{"light", "dark"} {
		w.scheme(scheme)
		for _, width := range []int64{360, 700, 1100} {
			w.size(width, 800)
			for _, path := range []string{"", "attempts", "attempts?state=late", "find", "jobs/" + string(a.JobID), "jobs/" + string(b.JobID),
				"attempts/" + string(a.ID) + "/confirm", "jobs/" + string(a.JobID) + "/cancel"} {
				w.visit("/ops/" + path)
				w.sound()
			}
		}
	}
}
