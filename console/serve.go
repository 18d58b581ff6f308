package console

import (
	"context"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

// policy lets a page do nothing but look as its own stylesheet says, and send
// its forms to where it came from: no script runs, whoever wrote it.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxForm is a result of the default limit in base64, and room. A larger one is
// for a program to confirm.
const maxForm = 4 << 20

// view is one request.
type view struct {
	*Console
	w    http.ResponseWriter
	r    *http.Request
	root string // from this page to the console's first
	now  time.Time
}

// ServeHTTP serves the console's pages. Paths are those below the prefix under
// which it is mounted, which [http.StripPrefix] has taken off.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// Not no-referrer, by which browsers send "Origin: null" with a form.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")

	raw := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	v := &view{Console: c, w: w, r: r, root: "./", now: c.o.Now()}
	if depth := strings.Count(raw, "/"); depth > 0 {
		v.root = strings.Repeat("../", depth)
	}
	if r.URL.Path == "" && !slashed(r.RequestURI) {
		v.redirect("./" + path.Base(pathOf(r.RequestURI)) + "/")
		return
	}
	if !v.method() {
		return
	}
	if r.Method == http.MethodPost {
		if !v.sameOrigin() {
			v.fail(pForged)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	}
	v.route(strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/"))
}

// slashed reports whether links of a page at uri are below it.
func slashed(uri string) bool { return strings.HasSuffix(pathOf(uri), "/") }

func pathOf(uri string) string {
	p, _, _ := strings.Cut(uri, "?")
	return p
}

func (v *view) method() bool {
	switch v.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return true
	}
	v.w.Header().Set("Allow", "GET, HEAD, POST")
	v.fail(pMethod)
	return false
}

// sameOrigin is stricter than CrossOriginProtection, which lets a request pass
// that has neither header: every browser sends one with a form, so here they were
// taken off on the way, and nobody knows where the form was.
func (v *view) sameOrigin() bool {
	if v.r.Header.Get("Sec-Fetch-Site") == "" && v.r.Header.Get("Origin") == "" {
		return false
	}
	return v.origin.Check(v.r) == nil
}

func (v *view) route(parts []string) {
	post := v.r.Method == http.MethodPost
	at := func(first string, n int) bool { return parts[0] == first && len(parts) == n }
	switch {
	case at("find", 1) && post:
		v.find()
	case at("jobs", 3) && parts[2] == cancelJob.Name:
		v.decideJob(onejob.JobID(parts[1]))
	case at("attempts", 3):
		v.decideAttempt(onejob.AttemptID(parts[1]), parts[2])
	case post:
		v.w.Header().Set("Allow", "GET, HEAD")
		v.fail(pMethod)
	case at("", 1):
		v.overview()
	case at("find", 1):
		v.render(http.StatusOK, "find", "Find a job", findPage{})
	case at("attempts", 1):
		v.list()
	case at("jobs", 2):
		v.job(onejob.JobID(parts[1]))
	case at("attempts", 2):
		v.attempt(onejob.AttemptID(parts[1]))
	case at("assets", 2):
		v.asset(parts[1])
	default:
		v.fail(pNotFound)
	}
}

// redirect takes a relative address: what stands before the console's own paths
// is not known here. After a form the browser asks with GET.
func (v *view) redirect(to string) {
	v.w.Header().Set("Location", to)
	v.w.WriteHeader(http.StatusSeeOther)
}

// reading bounds what a page asks of the database.
func (v *view) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(v.r.Context(), v.o.Timeout)
}

// deciding goes on when the browser has left: a decision that was sent shall not
// depend on who waits for the page.
func (v *view) deciding() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(v.r.Context()), 3*v.o.Timeout)
}

// mayDecide reports whether decisions are offered, and taken, at all.
func (v *view) mayDecide() bool {
	return !v.o.ReadOnly && (v.o.Allow == nil || v.o.Allow(v.r)) && (v.o.By == nil || v.o.By(v.r) != "")
}

func (v *view) showPayloads() bool { return v.o.ShowPayloads != nil && v.o.ShowPayloads(v.r) }
