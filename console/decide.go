package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/onejob-go/onejob"
)

// decision is one that is being made, and how its subject stands.
type decision struct {
	Action   action
	Job      onejob.Job
	Attempt  *onejob.Attempt  // nil: it is on the job
	Attempts []onejob.Attempt // of the job
	Form     form
	outcome
	// Why says on the page of a stale decision what came in between.
	Why string
	// Evidence says that Confirm lost: what it brought is kept.
	Evidence bool
}

func (v *view) decideAttempt(id onejob.AttemptID, name string) {
	k, ok := actionNamed(name)
	if !ok || id.Job() == "" {
		v.fail(pNotFound)
		return
	}
	v.decide(k, id.Job(), id)
}

func (v *view) decideJob(id onejob.JobID) { v.decide(cancelJob, id, "") }

func (v *view) decide(k action, job onejob.JobID, id onejob.AttemptID) {
	if !v.mayDecide() {
		v.fail(pReadOnly)
		return
	}
	if v.r.Method == http.MethodPost && !v.parse() {
		return
	}
	ctx, cancel := v.reading()
	defer cancel()
	d, err := v.load(ctx, k, job, id)
	switch {
	case err != nil:
		v.failed(err)
	case v.r.Method == http.MethodPost:
		v.posted(d)
	case !d.possible():
		v.stale(d)
	default:
		d.Form = form{By: v.name(nil), ByLogin: v.o.By != nil, Kind: "json", Seen: d.seen()}
		v.ask(http.StatusOK, d)
	}
}

// load reads how things stand.
func (v *view) load(ctx context.Context, k action, id onejob.JobID, attempt onejob.AttemptID) (decision, error) {
	job, attempts, err := v.get(ctx, id)
	d := decision{Action: k, Job: job, Attempts: attempts}
	if err != nil {
		return d, err
	}
	for _, a := range attempts {
		if a.ID == attempt {
			d.Attempt = &a
		}
	}
	if d.Attempt == nil && attempt != "" {
		return d, onejob.ErrNotFound
	}
	d.outcome = d.outcomeOf()
	return d, nil
}

// over reports whether this confirms what comes too late whoever confirms it.
func (d decision) over() bool {
	return d.Action.Name == "confirm" && d.Attempt != nil && d.Job.State != onejob.JobOpen
}

// possible reports whether there is something to decide.
func (d decision) possible() bool {
	if d.Attempt == nil {
		return d.Job.State == onejob.JobOpen
	}
	for _, k := range actionsFor(d.Job, *d.Attempt) {
		if k.Name == d.Action.Name {
			return undecided(d.Attempt.State)
		}
	}
	return false
}

// seen is how things stand, for the page to bring back. That a deadline passes
// while somebody types changes nothing of what is decided, so started and unknown
// are one.
func (d decision) seen() string {
	if d.Attempt == nil { // what was begun meanwhile is to be seen first
		return fmt.Sprintf("%s/%d/%t", d.Job.State, len(d.Attempts), d.Job.Status() == onejob.StatusPending)
	}
	state := d.Attempt.State
	if state.Open() {
		state = "open"
	}
	return string(d.Job.State) + "/" + string(state)
}

// posted handles the three buttons: to look at it again before it is done, to
// change it, and to do it.
func (v *view) posted(d decision) {
	step := v.r.PostForm.Get("step")
	d.Form = v.readForm(v.r.PostForm, d.Action.Name == "confirm")
	v.checkResult(d)
	switch {
	case step == "edit":
		d.Form.Bad = nil
		v.ask(http.StatusOK, d)
	case len(d.Form.Bad) > 0:
		v.ask(http.StatusUnprocessableEntity, d)
	case step == "apply" && d.done() != "":
		v.tell(d, d.done())
	case d.Form.Seen != d.seen() || !d.possible():
		v.stale(d)
	case step == "apply":
		v.apply(d)
	default:
		v.render(http.StatusOK, "review", d.Action.Verb, d)
	}
}

// checkResult asks the host about a result that would complete the job.
func (v *view) checkResult(d decision) {
	if v.o.CheckResult == nil || d.Action.Name != "confirm" || d.Job.State != onejob.JobOpen || d.Form.Bad["result"] != "" || d.Form.Bad["kind"] != "" {
		return
	}
	if err := v.o.CheckResult(d.Job, d.Form.Result); err != nil {
		d.Form.Bad["result"] = "This service would not take it: " + short(maxRefusal, err.Error())
	}
}

// maxRefusal is how much of what a host says of a result is shown, in characters.
const maxRefusal = 300

// done is what to say where this very decision stands already, by this name and
// for this reason: the button was pressed twice.
func (d decision) done() string {
	switch a := d.Attempt; {
	case a == nil:
		if d.Job.State == onejob.JobCanceled && d.Form.same(d.Job.Decision) {
			return "cancel-job"
		}
	case d.Action.Name == "confirm":
		if a.State == onejob.StateLate && d.Form.sameLate(*a) {
			return "over"
		}
		if a.State == onejob.StateSucceeded && d.Form.same(a.Decision) && string(d.Job.Result) == string(d.Form.Result) {
			return "confirm"
		}
	case a.State == d.Action.To && d.Form.same(a.Decision):
		return d.Action.Name
	}
	return ""
}

func (v *view) ask(status int, d decision) { v.render(status, "form", d.Action.Verb, d) }

// stale answers a decision on what has changed since the page was made. Nothing
// was done.
func (v *view) stale(d decision) {
	v.render(http.StatusConflict, "stale", "This has changed meanwhile", d)
}

// tell sends the browser to the job's page.
func (v *view) tell(d decision, done string) {
	v.redirect(v.root + "jobs/" + string(d.Job.ID) + "?done=" + done)
}

// apply does it. The library's own compare-and-swap decides between two who
// press at the same moment.
func (v *view) apply(d decision) {
	ctx, cancel := v.deciding()
	defer cancel()
	err := v.call(ctx, d)
	field, rule := invalidField(err)
	switch {
	case err == nil:
		v.applied(ctx, d)
	case d.over() && (errors.Is(err, onejob.ErrCompleted) || errors.Is(err, onejob.ErrJobCanceled)):
		v.tell(d, "over")
	case errors.Is(err, onejob.ErrCompleted), errors.Is(err, onejob.ErrJobCanceled),
		errors.Is(err, onejob.ErrAttemptEnded), errors.Is(err, onejob.ErrResultMismatch):
		v.lost(ctx, d)
	case errors.Is(err, onejob.ErrNotFound):
		v.fail(pNotFound)
	case field != "":
		d.Form.Bad["result"] = "The " + field + " " + rule + "."
		v.ask(http.StatusUnprocessableEntity, d)
	case unavailable(err):
		v.o.Logger.ErrorContext(ctx, "console: a decision got no answer", "job", d.Job.ID, "err", logged(err))
		d.Why = "unavailable"
		v.render(http.StatusServiceUnavailable, "review", "The database gave no answer", d)
	default:
		v.o.Logger.ErrorContext(ctx, "console: a decision was refused", "job", d.Job.ID, "err", logged(err))
		d.Why = "refused"
		v.render(http.StatusConflict, "review", "The host refused", d)
	}
}

func (v *view) call(ctx context.Context, d decision) error {
	word := d.Form.decision()
	_, err := held(ctx, func() (onejob.Job, error) {
		switch {
		case d.Attempt == nil:
			return v.op.CancelJob(ctx, d.Job.ID, word)
		case d.Action.Name == "confirm":
			return v.op.Confirm(ctx, d.Attempt.ID, d.Form.Result, word)
		case d.Action.Name == "refute":
			return v.op.Refute(ctx, d.Attempt.ID, word)
		case d.Action.Name == "detach":
			return v.op.DetachAttempt(ctx, d.Attempt.ID, word)
		}
		return v.op.CancelAttempt(ctx, d.Attempt.ID, word)
	})
	return err
}

// applied looks whose name stands: of two who decide the same, both succeed, and
// the first name and reason are stored.
func (v *view) applied(ctx context.Context, d decision) {
	now, err := v.load(ctx, d.Action, d.Job.ID, d.id())
	stands := now.Job.Decision
	if now.Attempt != nil {
		stands = now.Attempt.Decision
	}
	switch {
	case err == nil && !d.Form.same(stands):
		v.lost(ctx, d)
	case d.Attempt == nil:
		v.tell(d, "cancel-job")
	default:
		v.tell(d, d.Action.Name)
	}
}

// lost shows how things stand instead.
func (v *view) lost(ctx context.Context, d decision) {
	now, err := v.load(ctx, d.Action, d.Job.ID, d.id())
	if err != nil {
		v.failed(err)
		return
	}
	now.Form = d.Form
	now.Evidence = now.Attempt != nil && d.Action.Name == "confirm" && d.Form.sameLate(*now.Attempt)
	v.stale(now)
}

func (d decision) id() onejob.AttemptID {
	if d.Attempt == nil {
		return ""
	}
	return d.Attempt.ID
}
