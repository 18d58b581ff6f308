package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/onejob-go/onejob"
)

type findPage struct {
	ID, Owner, Key string
	Bad            string
}

// find looks a job up. It is a form that is posted, so that owners and keys do
// not stand in addresses, which browsers and proxies write down.
func (v *view) find() {
	if !v.parse() {
		return
	}
	p := findPage{
		ID:    strings.ToLower(strings.TrimSpace(v.r.PostForm.Get("id"))),
		Owner: v.r.PostForm.Get("owner"), Key: v.r.PostForm.Get("key"),
	}
	switch {
	case p.ID != "":
		v.findID(p)
	case p.Owner != "" && p.Key != "":
		v.findKey(p)
	default:
		p.Bad = "Give an ID, or both an owner and a key."
		v.render(http.StatusUnprocessableEntity, "find", "Find a job", p)
	}
}

func (v *view) findID(p findPage) {
	ctx, cancel := v.reading()
	defer cancel()
	job := onejob.JobID(p.ID)
	if of := onejob.AttemptID(p.ID).Job(); of != "" {
		job = of
	}
	v.found(p, job, func() error { _, _, err := v.get(ctx, job); return err })
}

func (v *view) findKey(p findPage) {
	ctx, cancel := v.reading()
	defer cancel()
	job, err := held(ctx, func() (onejob.Job, error) { return v.jobs.GetByKey(ctx, p.Owner, p.Key) })
	v.found(p, job.ID, func() error { return err })
}

func (v *view) found(p findPage, id onejob.JobID, look func() error) {
	err := look()
	field, rule := invalidField(err)
	switch {
	case err == nil:
		v.redirect("./jobs/" + string(id))
	case errors.Is(err, onejob.ErrNotFound):
		p.Bad = "There is no such job."
		v.render(http.StatusNotFound, "find", "Find a job", p)
	case field != "":
		p.Bad = "The " + field + " " + rule + "."
		v.render(http.StatusUnprocessableEntity, "find", "Find a job", p)
	default:
		v.failed(err)
	}
}

// parse reads a posted form.
func (v *view) parse() bool {
	err := v.r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		v.fail(pLarge)
	case err != nil:
		v.fail(pForm)
	}
	return err == nil
}

// invalidField tells which input was not accepted, and why.
func invalidField(err error) (field, rule string) {
	var e *onejob.Error
	if !errors.As(err, &e) || !errors.Is(e, onejob.ErrInvalid) {
		return "", ""
	}
	_, rule, _ = strings.Cut(e.Error(), ": "+e.Field+" ")
	rule, _, _ = strings.Cut(rule, ";")
	return e.Field, rule
}
