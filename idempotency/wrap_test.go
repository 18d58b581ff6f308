package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

// H7 in Wrap mode: byte for byte, with the headers of the allow-list alone.
func rowARepeatedRequestGetsTheStoredResponse(w *world) {
	w.wrap(created)
	first := w.send(key("k"))
	require.Equal(w, http.StatusCreated, first.StatusCode)
	require.Equal(w, "session=canary", first.Header.Get("Set-Cookie"))
	require.Empty(w, first.Header.Get("Idempotent-Replayed"))
	require.Equal(w, `"k"`, first.Header.Get("Idempotency-Key"))
	require.NotContains(w, string(w.only("user-7", "k").Result), "canary", "cookies are not even stored")
	for range 3 {
		again := w.send(key("k"))
		require.Equal(w, first.StatusCode, again.StatusCode)
		require.Equal(w, first.text, again.text)
		for _, kept := range []string{"Content-Type", "Location", "Etag"} {
			require.Equal(w, first.Header.Values(kept), again.Header.Values(kept), kept)
		}
		require.Equal(w, "true", again.Header.Get("Idempotent-Replayed"))
		require.Equal(w, "no-store", again.Header.Get("Cache-Control"))
		require.Empty(w, again.Header.Get("Set-Cookie"))
		require.Empty(w, again.Header.Get("X-Request-Id"))
	}
	require.Equal(w, int64(1), w.runs.Load())
}

func TestHeadersMayBeAddedToTheReplay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(created, func(o *idempotency.Options) { o.Replay = []string{"x-request-id"} })
		w.send(key("k"))
		require.Equal(w, "r-1", w.send(key("k")).Header.Get("X-Request-Id"))
		o := w.options()
		o.Replay = []string{"set-cookie"}
		_, err := idempotency.New(w.jobs, o)
		require.ErrorContains(w, err, "Set-Cookie")
	})
}

// H6w and H16: one runs, all others are told so, and when to come again.
func rowManyIdenticalRequestsAreOneExecution(w *world) {
	const n = 50
	release := make(chan struct{})
	w.wrap(func(rw http.ResponseWriter, r *http.Request) { <-release; created(rw, r) })
	var group sync.WaitGroup
	statuses := make(chan answer, n)
	for range n {
		group.Go(func() { statuses <- w.send(key("k")) })
	}
	for range n - 1 {
		a := <-statuses
		w.problem(a, http.StatusConflict, "request-outstanding")
		after, err := strconv.Atoi(a.Header.Get("Retry-After"))
		require.NoError(w, err)
		require.True(w, after >= 1 && after <= 20, "%d", after)
		require.Contains(w, a.Header.Get("Location"), "/jobs/")
	}
	close(release)
	group.Wait()
	require.Equal(w, http.StatusCreated, (<-statuses).StatusCode)
	require.Equal(w, int64(1), w.runs.Load())
	require.Equal(w, "true", w.send(key("k")).Header.Get("Idempotent-Replayed"))
}

// H8, also at the same instant: one input has the key, all others conflict.
func rowManyConflictingRequestsAreOneExecution(w *world) {
	const n = 50
	w.wrap(func(rw http.ResponseWriter, r *http.Request) { io.Copy(rw, r.Body) })
	answers := make([]answer, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { answers[i] = w.send(request{keys: []string{"k"}, body: fmt.Sprintf(`{"n":%d}`, i)}) })
	}
	group.Wait()
	won := 0
	for i, a := range answers {
		if a.StatusCode == http.StatusOK {
			won++
			require.Equal(w, fmt.Sprintf(`{"n":%d}`, i), a.text)
			continue
		}
		w.problem(a, http.StatusConflict, "key-reused")
		require.NotContains(w, a.text, `"n"`, "the stored response is never shown")
	}
	require.Equal(w, 1, won)
	require.Equal(w, int64(1), w.runs.Load())
}

// H8 in any state, and whatever it is that differs.
func TestAnotherRequestWithTheKeyConflicts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(created)
		w.send(key("k"))
		k := []string{`"k"`}
		for name, r := range map[string]request{
			"body": {keys: k, body: `{"item":"ink"}`}, "method": {keys: k, method: http.MethodPatch}, "path": {keys: k, path: "/orders/2"},
			"query": {keys: k, path: "/orders?a=1"}, "media type": {keys: k, media: "application/merge-patch+json"},
			"opaque": {keys: k, media: "text/plain"},
		} {
			a := w.send(r)
			w.problem(a, http.StatusConflict, "key-reused")
			require.Contains(w, a.Header.Get("Link"), "describedby", name)
			require.Empty(w, a.Header.Get("Retry-After"))
			require.Equal(w, "false", a.Header.Get("X-Should-Retry"))
			require.Empty(w, a.Header.Get("Location"), "it is another request's")
		}
		for _, same := range []request{{keys: k, body: "{ \"item\" : \"pen\" }\n"}, {keys: k, media: "Application/JSON; charset=utf-8"}} {
			require.Equal(w, http.StatusCreated, w.send(same).StatusCode, "the same input in another form")
		}
		require.Equal(w, int64(1), w.runs.Load())
	})
	onBoth(t, func(w *world) {
		w.wrap(created, func(o *idempotency.Options) { o.Conflict = http.StatusUnprocessableEntity })
		w.send(key("k"))
		w.problem(w.send(request{keys: []string{"k"}, body: "[]"}), http.StatusUnprocessableEntity, "key-reused")
	})
}

// H9: no hint that the key exists elsewhere.
func rowOwnersDoNotSeeEachOther(w *world) {
	w.wrap(created)
	first := w.send(key("k"))
	other := key("k")
	other.user = "user-8"
	second := w.send(other)
	require.Equal(w, first.StatusCode, second.StatusCode)
	require.Empty(w, second.Header.Get("Idempotent-Replayed"))
	require.Equal(w, int64(2), w.runs.Load())

	mine := "/jobs/" + string(w.only("user-7", "k").ID)
	require.Equal(w, http.StatusOK, w.send(request{method: http.MethodGet, path: mine}).StatusCode)
	theirs := w.send(request{method: http.MethodGet, path: mine, user: "user-8"})
	for _, none := range []string{"/jobs/01890a5d-ac96-774b-bcce-b302099a8057", "/jobs/x", "/jobs/%00"} {
		a := w.send(request{method: http.MethodGet, path: none, user: "user-8"})
		require.Equal(w, theirs.text, a.text)
		require.Equal(w, theirs.StatusCode, a.StatusCode)
		a.Header.Del("Date")
		theirs.Header.Del("Date")
		require.Equal(w, theirs.Header, a.Header)
	}
	w.problem(theirs, http.StatusNotFound, "not-found")
	w.problem(w.send(request{method: http.MethodGet, path: mine, user: "-"}), http.StatusUnauthorized, "owner-missing")
}

// H6u, H11: a 5xx and a panic block the key; the first caller sees what there is.
func rowAnUnknownOutcomeBlocksTheKey(w *world) {
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("Idempotency-Key"), `p"`) {
			panic(http.ErrAbortHandler)
		}
		rw.WriteHeader(http.StatusBadGateway)
		io.WriteString(rw, "upstream")
	})
	a := w.send(key("k"))
	require.Equal(w, http.StatusBadGateway, a.StatusCode)
	require.Equal(w, "upstream", a.text)
	_, err := w.try(w.Context(), key("p"))
	require.Error(w, err, "a panic ends the connection, as without the layer")
	for _, k := range []string{"k", "p"} {
		a := w.send(key(k))
		w.problem(a, http.StatusConflict, "outcome-unknown")
		require.Empty(w, a.Header.Get("Retry-After"))
		require.Equal(w, "false", a.Header.Get("X-Should-Retry"))
		require.Contains(w, a.Header.Get("Location"), "/jobs/")
	}
	require.Equal(w, int64(2), w.runs.Load())
	job := w.only("user-7", "k")
	_, err = w.op.Confirm(w.Context(), job.Attempt.ID, []byte(`{"order":17}`), onejob.Decision{By: "ada", Reason: "asked"})
	require.NoError(w, err)
	a = w.send(key("k"))
	require.Equal(w, http.StatusOK, a.StatusCode, "what somebody else has found out is shown as it is")
	require.JSONEq(w, `{"order":17}`, string(w.job(a).Result))
}

// H11b: the handler knows that nothing happened, or sends a status that says so.
func rowWhatDidNothingRunsAgain(w *world) {
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		switch w.runs.Load() {
		case 1:
			rw.Header().Set("Retry-After", "7")
			rw.WriteHeader(http.StatusTooManyRequests)
		case 2:
			idempotency.NothingHappened(r.Context())
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			created(rw, r)
		}
	})
	a := w.send(key("k"))
	require.Equal(w, http.StatusTooManyRequests, a.StatusCode)
	require.Equal(w, "7", a.Header.Get("Retry-After"))
	require.Equal(w, http.StatusServiceUnavailable, w.send(key("k")).StatusCode)
	for range 2 {
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
	}
	require.Equal(w, int64(3), w.runs.Load())
	attempts, err := w.jobs.Attempts(w.Context(), "user-7", w.only("user-7", "k").ID)
	require.NoError(w, err)
	require.Equal(w, []onejob.State{onejob.StateFailed, onejob.StateFailed, onejob.StateSucceeded},
		[]onejob.State{attempts[0].State, attempts[1].State, attempts[2].State})
}

// H11c: a refusal is an answer.
func rowAClientErrorIsStored(w *world) {
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		http.Error(rw, "the card was declined", http.StatusPaymentRequired)
	})
	for range 2 {
		a := w.send(key("k"))
		require.Equal(w, http.StatusPaymentRequired, a.StatusCode)
		require.Equal(w, "the card was declined\n", a.text)
	}
	require.Equal(w, int64(1), w.runs.Load())
}

// H12: the client's leaving does not end the handler.
func rowTheHandlerOutlivesItsClient(w *world) {
	at, release := make(chan struct{}), make(chan struct{})
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(at)
		<-release
		if r.Context().Err() != nil {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		created(rw, r)
	})
	ctx, leave := context.WithCancel(w.Context())
	gone := make(chan error)
	go func() { _, err := w.try(ctx, key("k")); gone <- err }()
	<-at
	leave()
	require.ErrorIs(w, <-gone, context.Canceled)
	w.problem(w.send(key("k")), http.StatusConflict, "request-outstanding")
	close(release)
	require.Eventually(w, func() bool { return w.only("user-7", "k").State == onejob.JobCompleted }, 20*time.Second, 5*time.Millisecond)
	a := w.send(key("k"))
	require.Equal(w, http.StatusCreated, a.StatusCode)
	require.Equal(w, int64(1), w.runs.Load())
}

// H15: what cannot be shown again is not executed again.
func TestWhatIsStreamedIsNotReplayed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300<<10)
	for name, handler := range map[string]http.HandlerFunc{
		"flushes": func(rw http.ResponseWriter, _ *http.Request) {
			for range 3 {
				io.WriteString(rw, "part ")
				http.NewResponseController(rw).Flush()
			}
		},
		"an older flusher": func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, "part part part ")
			rw.(http.Flusher).Flush()
		},
		"is large": func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, large) },
		"is large by bits": func(rw http.ResponseWriter, _ *http.Request) {
			for i := range len(large) / 1024 {
				io.WriteString(rw, large[i*1024:(i+1)*1024])
			}
		},
		"hijacks": func(rw http.ResponseWriter, _ *http.Request) {
			conn, b, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			b.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\npart part part ")
			b.Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				w.wrap(handler)
				a := w.send(key("k"))
				require.Equal(w, http.StatusOK, a.StatusCode)
				require.Contains(w, []string{large, "part part part "}, a.text)
				require.Eventually(w, func() bool { return w.only("user-7", "k").State == onejob.JobCompleted }, 20*time.Second, 5*time.Millisecond)
				for range 2 {
					w.problem(w.send(key("k")), http.StatusGone, "response-not-replayable")
				}
				require.Equal(w, int64(1), w.runs.Load())
			})
		})
	}
}

// H10: the tombstone answers.
func rowAfterPurgeNothingIsExecutedAgain(w *world) {
	w.wrap(created)
	w.send(key("k"))
	time.Sleep(20 * time.Millisecond)
	n, err := w.op.Purge(w.Context(), onejob.Retention{Payloads: time.Millisecond}, 10)
	require.NoError(w, err)
	require.Equal(w, 1, n)
	a := w.send(key("k"))
	w.problem(a, http.StatusGone, "response-expired")
	require.Contains(w, a.Header.Get("Location"), "/jobs/")
	w.problem(w.send(request{method: http.MethodGet, path: a.Header.Get("Location")}), http.StatusGone, "response-expired")
	require.Equal(w, int64(1), w.runs.Load())
}

// An overdue handler is in doubt, swept or not; what it brings still counts.
func rowAnOverdueHandlerIsInDoubt(w *world) {
	at, release := make(chan struct{}), make(chan struct{})
	w.wrap(func(rw http.ResponseWriter, r *http.Request) {
		close(at)
		<-r.Context().Done()
		<-release
		created(rw, r)
	}, func(o *idempotency.Options) { o.Timeout = 2 * time.Second })
	done := make(chan answer)
	go func() { done <- w.send(key("k")) }()
	<-at
	require.Eventually(w, func() bool { return w.only("user-7", "k").Status() == onejob.StatusUnknown }, 20*time.Second, 5*time.Millisecond)
	w.problem(w.send(key("k")), http.StatusConflict, "outcome-unknown")
	close(release)
	require.Equal(w, http.StatusCreated, (<-done).StatusCode)
	require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
	require.Equal(w, int64(1), w.runs.Load())
}

// A handler whose attempt was canceled has lost: its caller is told how the job
// stands, not what the handler thinks.
func TestALateResponseIsThrownAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		at, release := make(chan struct{}), make(chan struct{})
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			close(at)
			<-release
			created(rw, r)
		})
		done := make(chan answer)
		go func() { done <- w.send(key("k")) }()
		<-at
		_, err := w.op.CancelJob(w.Context(), w.only("user-7", "k").ID, onejob.Decision{By: "ada", Reason: "asked"})
		require.NoError(w, err)
		close(release)
		w.problem(<-done, http.StatusConflict, "job-canceled")
		w.problem(w.send(key("k")), http.StatusConflict, "job-canceled")
	})
}

func TestTheHandlerKnowsItsJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			job, ok := idempotency.JobFrom(r.Context())
			require.True(w, ok)
			a, ok := idempotency.AttemptFrom(r.Context())
			require.True(w, ok)
			body, err := io.ReadAll(r.Body)
			require.NoError(w, err)
			require.NotEmpty(w, body)
			json.NewEncoder(rw).Encode([]string{string(job.ID), string(a.ID), string(body)})
		})
		a := w.send(key("k"))
		var got []string
		require.NoError(w, json.Unmarshal([]byte(a.text), &got))
		job := w.only("user-7", "k")
		require.Equal(w, []string{string(job.ID), string(job.Attempt.ID), `{"item":"pen"}`}, got)
	})
}
