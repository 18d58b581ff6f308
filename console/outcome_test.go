package console_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var bert = onejob.Decision{By: "bert", Reason: "cannot wait"}

// beside begins another attempt beside one that bert detaches.
func (w *world) beside(a onejob.Attempt, provider string) onejob.Attempt {
	w.Helper()
	job, err := w.op.DetachAttempt(w.Context(), a.ID, bert)
	require.NoError(w, err)
	b, err := w.jobs.BeginAttempt(w.Context(), job, onejob.Try{Provider: provider, Timeout: time.Hour})
	require.NoError(w, err)
	return b
}

func (w *world) completes(a onejob.Attempt) {
	w.Helper()
	_, err := w.jobs.Complete(w.Context(), a, []byte("1"))
	require.NoError(w, err)
}

// Where no attempt can begin, no page says that one may.
func TestWhatADecisionLeadsToIsSaidOfTheJobAsItStands(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		blocking := w.doubt("blocking")
		detached := w.doubt("detached")
		w.beside(detached, "acme-pay")
		over := w.doubt("over")
		w.completes(w.beside(over, "fallback-pay"))
		sameKey := w.doubt("same key")
		w.completes(w.beside(sameKey, "acme-pay"))
		withdrawn := w.doubt("withdrawn")
		_, err := w.op.CancelJob(w.Context(), withdrawn.JobID, bert)
		require.NoError(w, err)
		for _, action := range []string{"refute", "cancel", "confirm"} {
			page := func(a onejob.Attempt, holds ...string) string {
				return w.page(w.get("attempts/"+string(a.ID)+"/"+action), http.StatusOK, holds...).text
			}
			first := page(blocking)
			for _, a := range []onejob.Attempt{detached, over, sameKey, withdrawn} {
				require.NotContains(w, page(a), "may begin at once")
			}
			if action != "confirm" {
				require.Contains(w, first, "Another attempt may begin at once.")
				page(detached, "who may begin stays as it is")
				page(over, "The job stays completed, and no attempt begins.")
				page(withdrawn, "The job stays canceled, and no attempt begins.")
			}
			for _, a := range []onejob.Attempt{over, withdrawn} {
				require.NotContains(w, page(a, "it may have to be undone at the provider"), "the same provider key")
			}
			page(sameKey, "attempt 2 at the same provider had the same provider key", "Look there before you undo anything")
		}
		w.page(w.get("jobs/"+string(over.JobID)), http.StatusOK, "The job is completed, and stays so. What is left to say is what became of this attempt.")
	})
}

// One decision is kept of each attempt, and it is not told as another one.
func TestALaterDecisionIsNotToldAsTheDetaching(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		ada := onejob.Decision{By: "ada", Reason: "now I know"}
		for name, c := range map[string]struct {
			decide func(onejob.Attempt) error
			told   string
		}{
			"cancel":  {func(a onejob.Attempt) error { _, err := w.op.CancelAttempt(w.Context(), a.ID, ada); return err }, "Canceled by ada"},
			"refute":  {func(a onejob.Attempt) error { _, err := w.op.Refute(w.Context(), a.ID, ada); return err }, "Decided by ada"},
			"confirm": {func(a onejob.Attempt) error { _, err := w.op.Confirm(w.Context(), a.ID, []byte("1"), ada); return err }, "Decided by ada"},
		} {
			a := w.doubt(name)
			b := w.beside(a, "fallback-pay")
			told := w.page(w.get("jobs/"+string(a.JobID)), http.StatusOK, "Detached by bert", "<strong>Detached by <bdi>bert", "When it was detached is not stored.")
			require.NotContains(w, told.text, "Decided by")
			w.completes(b)
			if err := c.decide(a); name == "confirm" {
				require.ErrorIs(w, err, onejob.ErrCompleted)
			} else {
				require.NoError(w, err)
			}
			told = w.page(w.get("jobs/"+string(a.JobID)), http.StatusOK, c.told, "Detached at a time that is not stored")
			require.NotContains(w, told.text, "Detached by")
		}
		// One that ended by itself keeps the name of who had detached it.
		a := w.doubt("itself")
		w.beside(a, "fallback-pay")
		w.completes(a)
		told := w.page(w.get("jobs/"+string(a.JobID)), http.StatusOK, "Decided by bert", "Confirmed, or detached and then completed by itself")
		require.NotContains(w, told.text, "Confirmed by")
	})
}

// An address is no proof of what it says.
func TestANoticeSaysOnlyWhatTheJobBearsOut(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		_, err := w.op.DetachAttempt(w.Context(), a.ID, bert)
		require.NoError(w, err)
		path := "jobs/" + string(a.JobID) + "?done="
		for _, word := range []string{"confirm", "refute", "cancel", "cancel-job", "over", "<b>"} {
			require.NotContains(w, w.page(w.get(path+word), http.StatusOK).text, "Done:", word)
		}
		w.page(w.get(path+"detach"), http.StatusOK, "Done: the attempt blocks no longer.")
		b, err := w.jobs.BeginAttempt(w.Context(), w.job(a), onejob.Try{Provider: "fallback-pay", Timeout: time.Hour})
		require.NoError(w, err)
		_, err = w.op.Refute(w.Context(), a.ID, bert)
		require.NoError(w, err)
		require.NotContains(w, w.page(w.get(path+"refute"), http.StatusOK, "Done: the attempt has failed.").text, "another may begin")
		w.completes(b)
		require.NotContains(w, w.page(w.get(path+"confirm"), http.StatusOK).text, "Done:", "it was completed, and not by an operator")
		require.NotContains(w, w.page(w.get(path+"detach"), http.StatusOK).text, "Done:")
	})
}

func (w *world) job(a onejob.Attempt) onejob.Job {
	w.Helper()
	job, _ := w.stands(a.ID)
	return job
}

// The host knows what its results look like, and the page does not.
func TestTheHostMayLookAtAResultBeforeItIsStored(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		var asked atomic.Int64
		w.opts.CheckResult = func(job onejob.Job, result []byte) error {
			asked.Add(1)
			if job.Key != "k" || string(result) != `{"status":200}` {
				return errors.New("no recorded <response>: \u202e status is missing")
			}
			return nil
		}
		w.serve()
		a := w.doubt("k")
		path := "attempts/" + string(a.ID) + "/confirm"
		entered := says("ada", "seen")
		entered.Set("kind", "json")
		for _, step := range []string{"review", "apply"} {
			form := fields(w.page(w.get(path), http.StatusOK, "In the form in which your service stores it"))
			for name, values := range entered {
				form[name] = values
			}
			form.Set("step", step)
			form.Set("result", "{}")
			told := w.page(w.post(path, form), http.StatusUnprocessableEntity, "This service would not take it: no recorded <response>: \\u{202E} status is missing")
			require.NotContains(w, told.text, "<response>")
		}
		_, now := w.stands(a.ID)
		require.Equal(w, onejob.StateUnknown, now.State)
		entered.Set("result", `{"status":200}`)
		require.Equal(w, http.StatusSeeOther, w.post(path, w.review(path, entered)).StatusCode)
		require.Equal(w, `{"status":200}`, string(w.job(a).Result))

		over, before := w.doubt("over"), asked.Load()
		_, err := w.op.CancelJob(w.Context(), over.JobID, bert)
		require.NoError(w, err)
		entered.Set("result", "{}")
		path = "attempts/" + string(over.ID) + "/confirm"
		require.Equal(w, http.StatusSeeOther, w.post(path, w.review(path, entered)).StatusCode)
		require.Equal(w, before, asked.Load(), "of what is thrown away nobody needs to know the form")
	})
}

// That something was detached is not forgotten because nothing is blocked.
func TestADetachedAttemptIsNotForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		_, err := w.op.DetachAttempt(w.Context(), a.ID, bert)
		require.NoError(w, err)
		w.page(w.get(""), http.StatusOK, "Nothing is in doubt.", "1 detached", "what became of it is not known")
		w.page(w.get("jobs/"+string(a.JobID)), http.StatusOK, "What became of the detached attempt is not known.", "Its call ended in doubt; when is not stored.")
	})
}
