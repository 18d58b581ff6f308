package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
)

const (
	pageSize = 50
	// maxWalk bounds what a page of the list reads to come to where it begins.
	maxWalk = 5000
)

// listed are the states that the database finds without reading all attempts.
var listed = []string{"started", "unknown", "detached", "late"}

// query is what the list was asked for, as it stands in the address.
type query struct {
	States                        []string
	Provider, Kind, Owner, Before string
	after                         mark
}

// mark is the last attempt of the page before: an offset would skip what was
// decided meanwhile.
type mark struct {
	at time.Time
	id onejob.AttemptID
}

type listPage struct {
	Q       query
	All     []string
	Entries []onejob.Entry
	Now     time.Time
	Next    string // address of the next page
	First   bool
	Far     bool // there is more than the console walks
	Bad     map[string]string
}

// Has reports whether a state is asked for.
func (q query) Has(state string) bool { return slices.Contains(q.States, state) }

func (v *view) list() {
	values := v.r.URL.Query()
	q := query{
		Provider: values.Get("provider"), Kind: values.Get("kind"), Owner: values.Get("owner"),
		Before: strings.TrimSpace(values.Get("before")), after: markOf(values.Get("after")),
	}
	for _, s := range values["state"] {
		if slices.Contains(listed, s) && !q.Has(s) {
			q.States = append(q.States, s)
		}
	}
	p := listPage{All: listed, Now: v.now, First: q.after.at.IsZero()}
	f, bad := q.filter()
	p.Q = q
	if len(bad) > 0 {
		p.Bad = bad
		v.render(http.StatusUnprocessableEntity, "list", "Attempts", p)
		return
	}
	if err := v.walk(f, &p); err != nil {
		if field, rule := invalidField(err); field != "" {
			field = strings.ToLower(strings.TrimPrefix(field, "Filter."))
			p.Bad = map[string]string{field: "The " + field + " " + rule + "."}
			v.render(http.StatusUnprocessableEntity, "list", "Attempts", p)
			return
		}
		v.failed(err)
		return
	}
	v.render(http.StatusOK, "list", "Attempts", p)
}

// filter says q in the library's words. Late is a question of its own there, so it
// is asked alone.
func (q *query) filter() (onejob.Filter, map[string]string) {
	f := onejob.Filter{Provider: q.Provider, Kind: q.Kind, Owner: q.Owner}
	bad := map[string]string{}
	if q.Has("late") {
		f.Late = true
		if len(q.States) > 1 {
			bad["state"] = "Late results are listed by themselves: choose late alone, or the others."
		}
	} else {
		for _, s := range q.States {
			f.States = append(f.States, onejob.State(s))
		}
	}
	if q.Before != "" {
		at, ok := parseTime(q.Before)
		if !ok {
			bad["before"] = "Write the time as 2026-01-31 23:59 (UTC)."
		}
		f.Before = at
	}
	return f, bad
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// walked is what a walk over the list has found.
type walked struct {
	entries []onejob.Entry
	next    string
	far     bool
}

func (v *view) walk(f onejob.Filter, p *listPage) error {
	ctx, cancel := v.reading()
	defer cancel()
	q := p.Q // a walk that is given up goes on with its own
	found, err := held(ctx, func() (walked, error) { return v.walkOn(ctx, f, q) })
	p.Entries, p.Next, p.Far = found.entries, found.next, found.far
	return err
}

func (v *view) walkOn(ctx context.Context, f onejob.Filter, q query) (found walked, err error) {
	seen := 0
	for e, err := range v.op.Attempts(ctx, f) {
		switch seen++; {
		case err != nil:
			return found, err
		case seen > v.farthest:
			found.far = true
			return found, nil
		case !q.after.before(e.Attempt):
		case len(found.entries) == pageSize:
			found.next = q.next(found.entries[pageSize-1].Attempt)
			return found, nil
		default:
			found.entries = append(found.entries, e)
		}
	}
	return found, nil
}

// before tells by the order of the list.
func (m mark) before(a onejob.Attempt) bool {
	return m.at.IsZero() || cmp.Or(m.at.Compare(a.StartedAt), strings.Compare(string(m.id), string(a.ID))) < 0
}

func (q query) next(last onejob.Attempt) string {
	values := q.values()
	values.Set("after", strconv.FormatInt(last.StartedAt.UnixMicro(), 10)+"~"+string(last.ID))
	return "attempts?" + values.Encode()
}

func (q query) values() url.Values {
	values := url.Values{}
	for _, s := range q.States {
		values.Add("state", s)
	}
	for name, s := range map[string]string{"provider": q.Provider, "kind": q.Kind, "owner": q.Owner, "before": q.Before} {
		if s != "" {
			values.Set(name, s)
		}
	}
	return values
}

// Again is the address of the first page.
func (q query) Again() string { return "attempts?" + q.values().Encode() }

// markOf reads a mark; what is none begins at the beginning.
func markOf(s string) mark {
	at, id, ok := strings.Cut(s, "~")
	micros, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || onejob.AttemptID(id).Job() == "" {
		return mark{}
	}
	return mark{time.UnixMicro(micros), onejob.AttemptID(id)}
}
