package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

//go:embed page
var files embed.FS

var need = onejob.Requirement{Contract: "charge", Model: "any", Fingerprint: "playground-1"}

// playground is the service and its page.
type playground struct {
	http.Handler
	jobs  *onejob.Jobs
	op    *onejob.Operator
	books *books
	pace  pace
	calls sync.WaitGroup
	live  context.Context // ends the calls that nobody waits for
	stop  context.CancelFunc
}

func newPlayground(ctx context.Context, store onejob.Store, pace pace) (*playground, error) {
	jobs := onejob.New(store, nil)
	p := &playground{jobs: jobs, op: onejob.NewOperator(jobs), books: &books{}, pace: pace}
	p.live, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, name := range names {
		runs, passes := p.books.prove(name)
		q := onejob.Qualification{Provider: name, Requirement: need, Runs: runs, Passes: passes}
		if _, err := p.op.SaveQualification(ctx, q, 24*time.Hour); err != nil {
			return nil, err
		}
	}
	ops, err := console.New(jobs, &console.Options{ShowPayloads: func(*http.Request) bool { return true }})
	if err != nil {
		return nil, err
	}
	static, err := fs.Sub(files, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(static))
	mux.Handle("/console/", http.StripPrefix("/console", ops))
	mux.HandleFunc("POST /click", p.click)
	mux.HandleFunc("POST /decide", p.decide)
	mux.HandleFunc("GET /live", p.show)
	p.Handler = guarded(mux)
	return p, nil
}

// guarded lets no other page click here, and no script of anybody else's run.
func guarded(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		own.ServeHTTP(w, r)
	})
}

// close ends the calls that are under way, and waits for them.
func (p *playground) close() { p.stop(); p.calls.Wait() }

// intent is what one order means, whoever is asked to charge for it.
func intent(order string) onejob.Intent {
	return onejob.Intent{Owner: "you", Key: order, Kind: "charge", Params: []byte(`{"amount":1200}`)}
}

// outcome is what a click is told.
type outcome struct {
	Begun bool   `json:"begun"`
	Job   string `json:"job"`
	Text  string `json:"text"`
}

// click is what the button does. Any number of clicks on one order, by any of the
// buttons, are one job.
func (p *playground) click(w http.ResponseWriter, r *http.Request) {
	order, name := r.PostFormValue("order"), r.PostFormValue("provider")
	if !slices.Contains(names, name) {
		http.Error(w, "no such provider", http.StatusBadRequest)
		return
	}
	try := onejob.Try{Provider: name, Timeout: p.pace.timeout}
	if r.PostFormValue("proven") == "true" {
		try.Require = &need
	}
	job, attempt, err := p.jobs.Start(r.Context(), intent(order), try)
	if err == nil {
		p.calls.Go(func() { p.carry(attempt, order) })
	}
	answer(w, tell(job, attempt, err))
}

// carry calls the provider and brings back what it says.
func (p *playground) carry(a onejob.Attempt, order string) {
	ctx, cancel := a.Context(p.live)
	defer cancel()
	defer context.AfterFunc(p.live, cancel)()
	receipt, err := p.books.charge(ctx, p.pace, p.live.Done(), a.Provider, order)
	if err != nil {
		_, _ = p.jobs.Fail(ctx, a, err) // in doubt: a lost answer proves nothing. The timeline shows it
		return
	}
	// ErrLateResult: another has won, or somebody has decided. The receipt is thrown
	// away, and the charge may have to be undone. The timeline shows that too.
	_, _ = p.jobs.Complete(ctx, a, receipt)
}

// tell says what came of a click.
func tell(job onejob.Job, a onejob.Attempt, err error) outcome {
	o := outcome{Begun: err == nil, Job: timeline.Short(job.ID)}
	e, _ := errors.AsType[*onejob.Error](err)
	switch {
	case err == nil:
		o.Text = fmt.Sprintf("attempt %d by %s begins", a.Number, a.Provider)
	case errors.Is(err, onejob.ErrCompleted):
		o.Text = fmt.Sprintf("done already: the stored result is %s", job.Result)
	case errors.Is(err, onejob.ErrInDoubt) && e.Attempt != nil:
		o.Text = fmt.Sprintf("refused: attempt %d by %s may have taken effect, nobody knows", e.Attempt.Number, e.Attempt.Provider)
	case errors.Is(err, onejob.ErrAttemptOpen) && e.Attempt != nil:
		o.Text = fmt.Sprintf("refused: attempt %d by %s is under way", e.Attempt.Number, e.Attempt.Provider)
	case errors.Is(err, onejob.ErrNotQualified):
		o.Text = "refused: this provider has not proven that it does what it says"
	case errors.Is(err, onejob.ErrJobCanceled):
		o.Text = "refused: the order was withdrawn"
	default:
		o.Text = err.Error()
	}
	return o
}

// decide is the operator's word, with one click.
func (p *playground) decide(w http.ResponseWriter, r *http.Request) {
	id, word := onejob.AttemptID(r.PostFormValue("attempt")), onejob.Decision{By: "you", Reason: "tried in the playground"}
	var job onejob.Job
	var err error
	switch r.PostFormValue("what") {
	case "confirm":
		job, err = p.op.Confirm(r.Context(), id, []byte(`{"charged":true,"receipt":"seen by you"}`), word)
	case "refute":
		job, err = p.op.Refute(r.Context(), id, word)
	case "detach":
		job, err = p.op.DetachAttempt(r.Context(), id, word)
	case "cancel":
		job, err = p.op.CancelAttempt(r.Context(), id, word)
	default:
		http.Error(w, "no such decision", http.StatusBadRequest)
		return
	}
	o := outcome{Begun: err == nil, Job: timeline.Short(job.ID), Text: "decided: the job is " + string(job.Status())}
	if err != nil {
		o.Text = "too late: " + err.Error()
	}
	answer(w, o)
}

// state is what the page shows, as it is now.
type state struct {
	Job      string          `json:"job"`
	Status   onejob.Status   `json:"status"`
	Timeline template.HTML   `json:"timeline"`
	Open     []openAttempt   `json:"open"`
	Books    map[string]page `json:"books"`
}

type openAttempt struct {
	ID     onejob.AttemptID `json:"id"`
	Label  string           `json:"label"`
	Detach bool             `json:"detach"`
}

func (p *playground) show(w http.ResponseWriter, r *http.Request) {
	order := r.FormValue("order")
	s := state{Books: p.books.of(order), Open: []openAttempt{}}
	job, err := p.jobs.GetByKey(r.Context(), "you", order)
	if err == nil {
		var attempts []onejob.Attempt
		job, attempts, err = p.op.Get(r.Context(), job.ID)
		s.Job, s.Status, s.Timeline = string(job.ID), job.Status(), console.Timeline(job, attempts, time.Now())
		for _, a := range attempts {
			if a.State.Open() || a.State == onejob.StateDetached {
				s.Open = append(s.Open, openAttempt{a.ID, fmt.Sprintf("Attempt %d by %s is %s.", a.Number, a.Provider, a.State),
					a.State.Open() && job.State == onejob.JobOpen})
			}
		}
	}
	if err != nil && !errors.Is(err, onejob.ErrNotFound) {
		http.Error(w, "the database gave no answer", http.StatusServiceUnavailable)
		return
	}
	answer(w, s)
}

func answer(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a browser that has left has nothing to be told
}
