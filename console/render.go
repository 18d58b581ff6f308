package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
)

//go:embed assets templates
var files embed.FS

// page is what every template gets.
type page struct {
	Title, Nav, Root, Version string
	MayDecide                 bool
	Data                      any
}

// templates are the pages by name, each with the layout and the parts they share.
var templates = parse()

// version is part of the assets' addresses: a browser may keep them.
var version = digestOf("assets/console.css", "assets/icon.svg")

func parse() map[string]*template.Template {
	shared := template.Must(template.New("shared").Funcs(words).ParseFS(files,
		"templates/layout.html", "templates/parts.html", "templates/timeline.html"))
	all := map[string]*template.Template{"shared": shared}
	for _, name := range []string{"overview", "list", "find", "job", "form", "review", "stale", "problem"} {
		t := template.Must(shared.Clone())
		all[name] = template.Must(t.ParseFS(files, "templates/"+name+".html"))
	}
	return all
}

func digestOf(names ...string) string {
	h := sha256.New()
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic("console: " + err.Error()) // it is embedded
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// render writes a page, whole or not at all.
func (v *view) render(status int, name, title string, data any) {
	nav := name
	var b bytes.Buffer
	p := page{Title: title, Nav: nav, Root: v.root, Version: version, MayDecide: v.mayDecide(), Data: data}
	if err := templates[name].ExecuteTemplate(&b, "layout", p); err != nil {
		v.o.Logger.ErrorContext(v.r.Context(), "console: the page could not be made", "page", name, "err", err)
		http.Error(v.w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		_, _ = v.w.Write(b.Bytes()) // a browser that has left has nothing to be told
	}
}

// asset serves what is embedded.
func (v *view) asset(name string) {
	text, err := files.ReadFile("assets/" + name)
	if err != nil {
		v.fail(pNotFound)
		return
	}
	kind := map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
	v.w.Header().Set("Content-Type", kind)
	v.w.Header().Set("Cache-Control", "private, max-age=86400")
	if v.r.Method != http.MethodHead {
		_, _ = v.w.Write(text)
	}
}
