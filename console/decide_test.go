package console_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

func TestEachDecisionIsStoredWithNameAndReason(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]struct {
		state  onejob.State
		status onejob.Status
	}{
		"refute": {onejob.StateFailed, onejob.StatusPending},
		"cancel": {onejob.StateCanceled, onejob.StatusPending},
		"detach": {onejob.StateDetached, onejob.StatusPending},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			onBoth(t, nil, func(w *world) {
				w.serve()
				a := w.doubt("k")
				path := "attempts/" + string(a.ID) + "/" + action
				done := w.post(path, w.review(path, says(" ada ", "their support says so\r\non line two ")))
				require.Equal(w, http.StatusSeeOther, done.StatusCode, done.text)
				require.Equal(w, "../../jobs/"+string(a.JobID)+"?done="+action, done.Header.Get("Location"))
				job, now := w.stands(a.ID)
				require.Equal(w, want.state, now.State)
				require.Equal(w, want.status, job.Status())
				require.Equal(w, onejob.Decision{By: "ada", Reason: "their support says so\non line two"}, now.Decision)
				w.page(w.get("jobs/"+string(a.JobID)+"?done="+action), http.StatusOK, "Done: ", "ada", "on line two")
			})
		})
	}
	t.Run("the job", func(t *testing.T) {
		t.Parallel()
		onBoth(t, nil, func(w *world) {
			w.serve()
			a := w.doubt("k")
			path := "jobs/" + string(a.JobID) + "/cancel"
			form := w.review(path, says("ada", "the customer has left"))
			for range 2 { // a double click
				require.Equal(w, http.StatusSeeOther, w.post(path, form).StatusCode)
			}
			job, now := w.stands(a.ID)
			require.Equal(w, onejob.StatusCanceled, job.Status())
			require.Equal(w, onejob.Decision{By: "ada", Reason: "the customer has left"}, job.Decision)
			require.Equal(w, onejob.StateUnknown, now.State)
			w.page(w.get(path), http.StatusConflict, "This has changed meanwhile", "ada", "the customer has left")
		})
	})
}

// The console lives in the host: what it completes is booked as any other job.
func TestConfirmingRunsTheHostsOnComplete(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	booked := map[string]int{}
	host := &onejob.Options{OnComplete: func(_ context.Context, _ *sql.Tx, job onejob.Job) error {
		mu.Lock()
		defer mu.Unlock()
		booked[string(job.ID)+string(job.Result)]++
		return nil
	}}
	raw := []byte{0, 0xff, '\n', '"'}
	for name, c := range map[string]struct {
		kind, entered string
		result        []byte
	}{
		"json":   {"json", "{\"charge\":\r\n \"ch_1\"}", []byte("{\"charge\":\n \"ch_1\"}")},
		"text":   {"text", "\r\n receipt 7 ", []byte("\n receipt 7 ")},
		"base64": {"base64", base64.StdEncoding.EncodeToString(raw)[:4] + " \r\n" + base64.StdEncoding.EncodeToString(raw)[4:], raw},
		"empty":  {"empty", "", []byte{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, host, func(w *world) {
				w.serve()
				a := w.doubt("k")
				path := "attempts/" + string(a.ID) + "/confirm"
				entered := says("ada", "seen on their page")
				entered.Set("kind", c.kind)
				entered.Set("result", c.entered)
				form := w.review(path, entered)
				for range 2 { // a double click
					done := w.post(path, form)
					require.Equal(w, http.StatusSeeOther, done.StatusCode, done.text)
				}
				job, now := w.stands(a.ID)
				require.Equal(w, onejob.StatusCompleted, job.Status())
				require.Equal(w, c.result, job.Result)
				require.Equal(w, onejob.Decision{By: "ada", Reason: "seen on their page"}, now.Decision)
				mu.Lock()
				defer mu.Unlock()
				require.Equal(w, 1, booked[string(job.ID)+string(c.result)])
			})
		})
	}
}

func TestWhatOnCompleteRefusesIsNotStored(t *testing.T) {
	t.Parallel()
	host := &onejob.Options{OnComplete: func(context.Context, *sql.Tx, onejob.Job) error {
		return errors.New("canary: the ledger is closed")
	}}
	onBoth(t, host, func(w *world) {
		w.serve()
		a := w.doubt("k")
		path := "attempts/" + string(a.ID) + "/confirm"
		entered := says("ada", "seen")
		entered.Set("kind", "json")
		entered.Set("result", "1")
		told := w.page(w.post(path, w.review(path, entered)), http.StatusConflict, "The host refused", "Nothing was stored")
		require.NotContains(w, told.text, "canary", "somebody else's error is not for the page")
		_, now := w.stands(a.ID)
		require.Equal(w, onejob.StateUnknown, now.State)
	})
}

func TestBadInputIsToldBesideItsField(t *testing.T) {
	t.Parallel()
	onBoth(t, &onejob.Options{MaxResult: 10}, func(w *world) {
		w.serve()
		a := w.doubt("k")
		path := "attempts/" + string(a.ID) + "/confirm"
		for _, c := range []struct {
			told    string
			entered url.Values
		}{
			{"Say who decides.", url.Values{"reason": {"r"}, "kind": {"json"}, "result": {"1"}}},
			{"Say how you know", url.Values{"by": {"ada"}, "reason": {" \n"}, "kind": {"json"}, "result": {"1"}}},
			{"No control characters.", url.Values{"by": {"a\x07da"}, "reason": {"r"}, "kind": {"json"}, "result": {"1"}}},
			{"This is not JSON.", url.Values{"by": {"ada"}, "reason": {"r"}, "kind": {"json"}, "result": {"{"}}},
			{"This is not base64.", url.Values{"by": {"ada"}, "reason": {"r"}, "kind": {"base64"}, "result": {"%"}}},
			{"choose an empty one", url.Values{"by": {"ada"}, "reason": {"r"}, "kind": {"text"}}},
			{"something is entered", url.Values{"by": {"ada"}, "reason": {"r"}, "kind": {"empty"}, "result": {"x"}}},
			{"Say what kind", url.Values{"by": {"ada"}, "reason": {"r"}, "result": {"1"}}},
			{"has 14 bytes, the limit is 10", url.Values{"by": {"ada"}, "reason": {"r"}, "kind": {"text"}, "result": {"fourteen bytes"}, "step": {"apply"}}},
		} {
			form := fields(w.get(path))
			for name, values := range c.entered {
				form[name] = values
			}
			told := w.page(w.post(path, form), http.StatusUnprocessableEntity, c.told)
			require.Contains(w, told.text, `aria-`)
			_, now := w.stands(a.ID)
			require.Equal(w, onejob.StateUnknown, now.State)
		}
	})
}

func TestWhatWasEnteredMayBeChangedOnTheWay(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		path := "attempts/" + string(w.doubt("k").ID) + "/confirm"
		entered := says("ada", "se\"en")
		entered.Set("kind", "text")
		entered.Set("result", "\n<b>7</b>")
		form := w.review(path, entered)
		form.Set("step", "edit")
		w.page(w.post(path, form), http.StatusOK, `value="ada"`, `se"en`, "\n\n<b>7</b></textarea>", `value="text" checked`)
	})
}

// A page that was made before something else happened decides nothing.
func TestAStalePageOverwritesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		for _, action := range []string{"refute", "cancel", "detach", "confirm"} {
			a := w.begin(action, "acme-pay")
			path := "attempts/" + string(a.ID) + "/" + action
			entered := says("ada", "I think so")
			entered.Set("kind", "json")
			entered.Set("result", "2")
			form := w.review(path, entered)
			_, err := w.jobs.Complete(w.Context(), a, []byte("1"))
			require.NoError(w, err)
			w.page(w.post(path, form), http.StatusConflict, "This has changed meanwhile", "Your decision was not stored", "succeeded")
			job, now := w.stands(a.ID)
			require.Equal(w, "1", string(job.Result))
			require.Empty(w, now.By)
			require.Zero(w, now.LateAt, "it was not even tried")
			w.page(w.get(path), http.StatusConflict, "This has changed meanwhile")
		}
	})
}

// That a deadline passes while somebody types changes nothing of what is decided.
func TestADeadlineThatPassesDoesNotMakeAPageStale(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.begin("k", "acme-pay")
		path := "attempts/" + string(a.ID) + "/refute"
		form := w.review(path, says("ada", "voided"))
		_, err := w.jobs.MarkUnknown(w.Context(), a, errors.New("timeout"))
		require.NoError(w, err)
		require.Equal(w, http.StatusSeeOther, w.post(path, form).StatusCode)
	})
}

// Of two who decide at the same moment, one is told that the other was first.
func TestOfTwoOperatorsOneIsToldThatTheOtherWasFirst(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		for _, pair := range [][2]string{{"refute", "refute"}, {"refute", "cancel"}, {"confirm", "confirm"}, {"confirm", "refute"}} {
			a := w.doubt(pair[0] + pair[1])
			forms, answers := [2]url.Values{}, [2]answer{}
			path := func(i int) string { return "attempts/" + string(a.ID) + "/" + pair[i] }
			for i, by := range []string{"ada", "bert"} {
				entered := says(by, "I was first")
				entered.Set("kind", "json")
				entered.Set("result", `"`+by+`"`)
				forms[i] = w.review(path(i), entered)
			}
			var group sync.WaitGroup
			for i := range 2 {
				group.Go(func() { answers[i] = w.post(path(i), forms[i]) })
			}
			group.Wait()
			first := 0
			if answers[1].StatusCode == http.StatusSeeOther {
				first = 1
			}
			require.Equal(w, http.StatusSeeOther, answers[first].StatusCode, answers[first].text)
			by := []string{"ada", "bert"}[first]
			w.page(answers[1-first], http.StatusConflict, "This has changed meanwhile", "ed by <bdi>"+by+"<")
			_, now := w.stands(a.ID)
			require.Equal(w, by, now.By)
		}
	})
}

// An attempt of a job that is over still waits for somebody to find out.
func TestConfirmingTooLateKeepsTheEvidence(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		_, err := w.op.CancelJob(w.Context(), a.JobID, onejob.Decision{By: "bert", Reason: "withdrawn"})
		require.NoError(w, err)
		path := "attempts/" + string(a.ID) + "/confirm"
		w.page(w.get(path), http.StatusOK, "one effect too many")
		entered := says("ada", "it was charged")
		entered.Set("kind", "json")
		entered.Set("result", `"receipt"`)
		form := w.review(path, entered)
		for range 2 { // a double click
			done := w.post(path, form)
			require.Equal(w, "../../jobs/"+string(a.JobID)+"?done=over", done.Header.Get("Location"), done.text)
		}
		job, now := w.stands(a.ID)
		require.Equal(w, onejob.StatusCanceled, job.Status())
		require.Equal(w, onejob.StateLate, now.State)
		require.Equal(w, sha256.Sum256([]byte(`"receipt"`)), now.LateDigest)
		require.NotContains(w, w.get("jobs/"+string(a.JobID)).text, "/detach")
	})
}

// Whoever decides last on an attempt that was detached is who stands there.
func TestADetachedAttemptMayStillBeDecided(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		for action, want := range map[string]onejob.State{
			"confirm": onejob.StateSucceeded, "refute": onejob.StateFailed, "cancel": onejob.StateCanceled,
		} {
			a := w.doubt(action)
			_, err := w.op.DetachAttempt(w.Context(), a.ID, onejob.Decision{By: "bert", Reason: "cannot wait"})
			require.NoError(w, err)
			path := "attempts/" + string(a.ID) + "/" + action
			entered := says("ada", "now I know")
			entered.Set("kind", "json")
			entered.Set("result", "1")
			form := w.review(path, entered)
			for range 2 { // a double click
				done := w.post(path, form)
				require.Equal(w, http.StatusSeeOther, done.StatusCode, done.text)
			}
			_, now := w.stands(a.ID)
			require.Equal(w, want, now.State)
			require.Equal(w, "ada", now.By)
			w.page(w.get("attempts/"+string(a.ID)+"/detach"), http.StatusConflict)
		}
	})
}

func TestAFormThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		a := w.doubt("k")
		form := says("ada", "r")
		form.Set("result", string(make([]byte, 5<<20)))
		w.page(w.post("attempts/"+string(a.ID)+"/confirm", form), http.StatusRequestEntityTooLarge, "Nothing was done.")
		w.page(w.send(http.MethodPost, "find?%zz", nil, "Sec-Fetch-Site", "same-origin"), http.StatusBadRequest, "did not come whole")
	})
}

// What could still be decided may no longer be what somebody looked at.
func TestADecisionOnWhatOthersHaveDecidedMeanwhileIsAskedForAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(w *world) {
		w.serve()
		bert := onejob.Decision{By: "bert", Reason: "first"}
		for name, meanwhile := range map[string]func(a onejob.Attempt) error{
			"detached": func(a onejob.Attempt) error { _, err := w.op.DetachAttempt(w.Context(), a.ID, bert); return err },
			"canceled": func(a onejob.Attempt) error { _, err := w.op.CancelJob(w.Context(), a.JobID, bert); return err },
		} {
			a := w.doubt(name)
			path := "attempts/" + string(a.ID) + "/refute"
			form := w.review(path, says("ada", "I think so"))
			require.NoError(w, meanwhile(a))
			before, was := w.stands(a.ID)
			w.page(w.post(path, form), http.StatusConflict, "This has changed meanwhile", name)
			job, now := w.stands(a.ID)
			require.Equal(w, was, now)
			require.Equal(w, before.State, job.State)
			require.Equal(w, http.StatusSeeOther, w.post(path, w.review(path, says("ada", "I know so"))).StatusCode, "decided afresh")
		}
	})
}
