package console

import (
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

// maxShown is how much of a payload is shown.
const maxShown = 8 << 10

type jobPage struct {
	Job      onejob.Job
	Attempts []onejob.Attempt
	Picture  picture
	Offers   []offer
	Cancel   bool // the job may be canceled
	Notice   string
	Params   *payload
	Result   *payload
	Now      time.Time
}

// offer is an attempt that waits for a decision, and what may be decided.
type offer struct {
	Attempt onejob.Attempt
	Actions []action
}

// payload is what was stored, as text.
type payload struct {
	Size int64
	Text string
	Cut  bool
}

func payloadOf(p []byte) *payload {
	if p == nil {
		return nil
	}
	shown := p[:min(len(p), maxShown)]
	for n := len(shown); len(shown) < len(p) && n > len(shown)-utf8.UTFMax; n-- { // not within a character
		if utf8.RuneStart(p[n]) {
			shown = p[:n]
			break
		}
	}
	return &payload{int64(len(p)), visible(string(shown)), len(shown) < len(p)}
}

func (v *view) job(id onejob.JobID) {
	ctx, cancel := v.reading()
	defer cancel()
	job, attempts, err := v.get(ctx, id)
	if err != nil {
		v.failed(err)
		return
	}
	p := jobPage{
		Job: job, Attempts: attempts, Picture: draw(job, attempts, v.now), Now: v.now,
		Notice: noticeOf(v.r.URL.Query().Get("done"), job, attempts),
	}
	if v.mayDecide() {
		p.Cancel = job.State == onejob.JobOpen
		for _, a := range attempts {
			if undecided(a.State) {
				p.Offers = append(p.Offers, offer{a, actionsFor(job, a)})
			}
		}
	}
	if v.showPayloads() {
		p.Params, p.Result = payloadOf(job.Params), payloadOf(job.Result)
	}
	v.render(http.StatusOK, "job", "Job "+tail(job.ID), p)
}

// attempt shows the job, at the attempt.
func (v *view) attempt(id onejob.AttemptID) {
	if id.Job() == "" {
		v.fail(pNotFound)
		return
	}
	v.redirect("../jobs/" + string(id.Job()))
}

// tail tells IDs apart.
func tail[T ~string](id T) string { return "…" + string(id[max(0, len(id)-6):]) }

// actionsFor leaves out what would be pointless: there is no going on beside an
// attempt of a job that is over, or beside one that others go on beside already.
func actionsFor(job onejob.Job, a onejob.Attempt) []action {
	return slices.DeleteFunc(slices.Clone(actions), func(k action) bool {
		return k.Name == "detach" && (job.State != onejob.JobOpen || a.State == onejob.StateDetached)
	})
}
