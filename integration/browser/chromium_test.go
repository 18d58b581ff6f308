// Package browser has the tests of the console and the playground in a real
// browser.
package browser

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shared is one browser for all tests; each has a profile of its own in it.
var shared struct {
	once  sync.Once
	ctx   context.Context
	err   error
	close func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.close != nil {
		shared.close()
	}
	os.Exit(code)
}

// chromium starts the browser. One that is missing fails the tests: run
// scripts/ensure-tools.
func chromium() {
	dir, err := os.MkdirTemp("", "onejob-chromium-")
	if err != nil {
		shared.err = err
		return
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // as root it does not start otherwise
		chromedp.DisableGPU, chromedp.UserDataDir(dir),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		// A name that is not localhost: a browser trusts that one also over plain HTTP.
		chromedp.Flag("host-resolver-rules", "MAP console.test 127.0.0.1, MAP evil.test 127.0.0.1"),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(ctx)
	shared.ctx = ctx
	shared.close = func() {
		cancel()
		stop()
		for range 50 { // its children write for a moment
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	shared.err = chromedp.Do(ctx)
}

// tab is a window of the browser, and what went wrong in it.
type tab struct {
	*testing.T
	ctx    context.Context
	home   string // the only server that may be asked
	mu     sync.Mutex
	wrong  []string
	expect int // answers of 4xx and 5xx, which the browser logs
}

// open opens a window. When the test ends nothing may have gone wrong in it: no
// error or warning on its console, no request to another server, nothing that the
// page's policy had to stop.
func open(t *testing.T, home string) *tab {
	t.Helper()
	shared.once.Do(chromium)
	require.NoError(t, shared.err, "no browser: run scripts/ensure-tools")
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	w := &tab{T: t, ctx: ctx, home: home}
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, chromedp.Listen(ctx, w.notice))
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); return err },
		func() error { _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); return err },
	} {
		require.NoError(t, enable())
	}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, w.wrong)
	})
	w.size(1100, 900)
	return w
}

// notice is called for each event of the window.
func (w *tab) notice(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	say := func(format string, args ...any) { w.wrong = append(w.wrong, fmt.Sprintf(format, args...)) }
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, w.home+"/") && !strings.HasPrefix(e.Request.URL, "data:,") && e.Request.URL != "about:blank" {
			say("a request to %s", e.Request.URL)
		}
	case *cdplog.EventEntryAdded:
		if w.expect > 0 && strings.Contains(e.Entry.Text, "the server responded with a status of") {
			w.expect--
			return
		}
		say("logged: %s %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		say("the console was called: %s", e.Type)
	case *runtime.EventExceptionThrown:
		say("thrown: %s", e.ExceptionDetails.Text)
	case *audits.EventIssueAdded:
		say("issue: %s", e.Issue.Code)
	}
}

// refusals are answers that the browser logs as failed, and that are meant.
func (w *tab) refusals(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expect += n
}

func (w *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	require.NoError(w, chromedp.Do(ctx, steps...))
}

// leads runs steps after which another page is there.
func (w *tab) leads(status int64, steps ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	if status >= 400 {
		w.refusals(1)
	}
	resp, err := chromedp.RunResponse(ctx, steps...)
	require.NoError(w, err)
	require.Equal(w, status, resp.Status, w.text("main"))
}

func (w *tab) visit(path string) {
	w.Helper()
	w.leads(http.StatusOK, chromedp.Navigate(w.home+path))
}

// click clicks what is shown by these words: a real click, where it stands.
func (w *tab) click(words string) {
	w.Helper()
	w.leads(http.StatusOK, w.on(words))
}

func (w *tab) on(words string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//*[self::a or self::button or self::summary][contains(normalize-space(.), %q)]`, words)))
}

// enter types into a field.
func (w *tab) enter(field, text string) {
	w.Helper()
	w.do(chromedp.SendKeys(chromedp.CSS(`[name="`+field+`"]`), text))
}

func (w *tab) size(width, height int64) {
	w.Helper()
	w.do(chromedp.EmulateViewport(width, height))
}

// scheme sets what the user prefers.
func (w *tab) scheme(name string) {
	w.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	require.NoError(w, err)
}

func (w *tab) text(css string) string {
	return eval[string](w, fmt.Sprintf(`(document.querySelector(%q)||{innerText:""}).innerText`, css))
}

func (w *tab) shows(words ...string) {
	w.Helper()
	for _, text := range words {
		require.Contains(w, w.text("body"), text)
	}
}

func eval[T any](w *tab, js string) T {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	require.NoError(w, err)
	return v
}

//go:embed audit.js
var auditScript string

// sound is that the page is one that a keyboard and a screen reader can use, and
// that nothing sticks out of it.
func (w *tab) sound() {
	w.Helper()
	require.Empty(w, eval[[]string](w, auditScript), w.text("h1"))
}

// until waits for what comes by itself. Pages may change meanwhile, and an answer
// of the one before is an error.
func (w *tab) until(js string) {
	w.Helper()
	require.EventuallyWithT(w, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](js))
		require.NoError(c, err)
		require.True(c, is)
	}, time.Minute, 50*time.Millisecond, js)
}

// on0 clicks a choice by its label, which leads nowhere.
func (w *tab) on0(label string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.Search(fmt.Sprintf(`//label[normalize-space(.)=%q]`, label)))
}
