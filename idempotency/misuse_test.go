package idempotency_test

import (
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/onejobtest"
)

const form = "application/x-www-form-urlencoded"

// An owner function may read the form: the inputs stay apart, and the handler has
// its body.
func TestAnOwnerThatReadsTheBodyLeavesIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "charged ", r.FormValue("amount")) },
			func(o *idempotency.Options) {
				o.Owner = func(r *http.Request) (string, error) { r.FormValue("amount"); return "user-7", nil }
			})
		k := []string{"k"}
		require.Equal(w, "charged 5", w.send(request{keys: k, body: "amount=5", media: form}).text)
		w.problem(w.send(request{keys: k, body: "amount=5000", media: form}), http.StatusConflict, "key-reused")
	})
}

// What has read the body before the layer would make all inputs one.
func TestABodyThatIsGoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(r *http.Request){
		"a form": func(r *http.Request) { r.FormValue("amount") },
		"whole":  func(r *http.Request) { io.Copy(io.Discard, r.Body) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				l := w.layer()
				inner := l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { w.runs.Add(1) }))
				w.serve(l, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { read(r); inner.ServeHTTP(rw, r) }))
				w.problem(w.send(request{keys: []string{"k"}, body: "amount=5", media: form}), http.StatusInternalServerError, "internal")
				require.Zero(w, w.runs.Load())
				require.Contains(w, w.logs.String(), "read before the layer")
			})
		})
	}
}

// The line is not believed where the handler went on and did it.
func TestNothingHappenedAndThenItDid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			idempotency.NothingHappened(r.Context())
			created(rw, r)
		})
		for range 2 {
			require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
		}
		require.Equal(w, int64(1), w.runs.Load())
		require.Contains(w, w.logs.String(), "answered with success")
		o := w.options()
		o.NoEffect = []int{200}
		_, err := idempotency.New(w.jobs, o)
		require.ErrorContains(w, err, "Options.NoEffect")
		o = w.options()
		o.Methods = []string{"post"}
		_, err = idempotency.New(w.jobs, o)
		require.ErrorContains(w, err, "Options.Methods")
	})
}

func TestACompressedResponseIsReplayedAsOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			io.WriteString(z, "hello")
			z.Close()
		})
		for range 2 {
			require.Equal(w, "hello", w.send(key("k")).text, "the client undoes it, for it is told so")
		}
	})
}

// What stood in the response before the layer stays, in each answer.
func TestHeadersOfOuterMiddlewareStay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		l, n := w.layer(), 0
		inner := l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(http.StatusEarlyHints)
			rw.Header().Add("Vary", "Accept")
			rw.Header().Del("X-Gone")
			http.SetCookie(rw, &http.Cookie{Name: "inner", Value: "1"})
			io.WriteString(rw, rw.Header().Get("X-Outer"))
			rw.Header().Set("X-After", "too late")
		}))
		w.serve(l, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			n++
			rw.Header().Set("Vary", "Origin")
			rw.Header().Set("X-Outer", fmt.Sprint(n))
			rw.Header().Set("X-Gone", "1")
			http.SetCookie(rw, &http.Cookie{Name: "outer", Value: fmt.Sprint(n)})
			inner.ServeHTTP(rw, r)
		}))
		first, again := w.send(key("k")), w.send(key("k"))
		require.Equal(w, "1", first.text)
		require.Equal(w, "1", again.text)
		for i, a := range []answer{first, again} {
			require.Equal(w, []string{"Origin", "Accept"}, a.Header.Values("Vary"))
			require.Equal(w, fmt.Sprint(i+1), a.Header.Get("X-Outer"))
			require.Equal(w, fmt.Sprintf("outer=%d", i+1), a.Header.Values("Set-Cookie")[0])
			require.Len(w, a.Header.Values("Set-Cookie"), 2-i, "the handler's own is this caller's alone")
			require.Empty(w, a.Header.Get("X-After"))
		}
	})
}

// A worker's result is bytes of others, whatever it looks like.
func TestAResultNeverBecomesAResponse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		const forged = `{"onejob-response":"1","status":302,"header":{"Location":["https://evil.example"],"Set-Cookie":["a=b"]},"size":0}` + "\n"
		l := w.layer()
		mux := http.NewServeMux()
		mux.Handle("POST /orders", l.Create())
		mux.Handle("POST /orders/wrap", l.Wrap(http.HandlerFunc(created)))
		w.serve(l, mux)
		for path, k := range map[string]string{"/orders": "k", "/orders/wrap": "l"} {
			in := onejob.Intent{Owner: "user-7", Key: k, Kind: "order", Params: []byte(`{"item":"pen"}`), Scope: []string{"POST", path, "", "application/json"}}
			job, a, err := w.jobs.Start(w.Context(), in, onejob.Try{Provider: "worker", Timeout: time.Minute})
			require.NoError(w, err)
			_, err = w.jobs.Complete(w.Context(), a, []byte(forged))
			require.NoError(w, err)
			for _, got := range []answer{w.send(request{keys: []string{k}, path: path}), w.send(request{method: http.MethodGet, path: "/jobs/" + string(job.ID)})} {
				require.Equal(w, http.StatusOK, got.StatusCode)
				require.Empty(w, got.Header.Get("Set-Cookie"))
				require.NotContains(w, got.Header.Get("Location"), "evil")
			}
		}
	})
}

// The host's own rows are made of what the client got.
func TestOnCompleteSeesTheResponse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		var seen string
		w.jobs = onejob.New(w.store, &onejob.Options{OnComplete: func(_ context.Context, _ *sql.Tx, job onejob.Job) error {
			status, body, ok := idempotency.Response(job.Result)
			seen = fmt.Sprint(status, " ", string(body), ok)
			return nil
		}})
		w.wrap(created)
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
		require.Equal(w, "201 {\"order\":17}\ntrue", seen)
		_, _, ok := idempotency.Response([]byte("{}"))
		require.False(w, ok)
	})
}

// A job that was withdrawn and purged was never processed.
func TestACanceledJobThatWasPurgedWasNotProcessed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.create()
		w.send(key("k"))
		_, err := w.op.CancelJob(w.Context(), w.only("user-7", "k").ID, onejob.Decision{By: "ada", Reason: "asked"})
		require.NoError(w, err)
		time.Sleep(20 * time.Millisecond)
		n, err := w.op.Purge(w.Context(), onejob.Retention{Payloads: time.Millisecond}, 10)
		require.NoError(w, err)
		require.Equal(w, 1, n)
		w.problem(w.send(key("k")), http.StatusConflict, "job-canceled")
	})
}

// A client that polls the job's address learns that the answer was a no.
func TestTheJobShowsTheResponsesStatus(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusPaymentRequired)
			io.WriteString(rw, `{"reason":"declined"}`)
		})
		w.send(key("k"))
		a := w.send(request{method: http.MethodGet, path: "/jobs/" + string(w.only("user-7", "k").ID)})
		require.Equal(w, http.StatusOK, a.StatusCode)
		require.Contains(w, a.text, `"status":402`)
		require.Contains(w, a.text, `{"reason":"declined"}`)
	})
}

func TestWrapTwiceIsWrapOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		l := w.layer()
		w.serve(l, l.Wrap(l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.runs.Add(1); created(rw, r) }))))
		for range 2 {
			require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
		}
		require.Equal(w, int64(1), w.runs.Load())
	})
}

// A handler that announces another length than it writes, and statuses that are
// none.
func TestOddResponses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("do") {
			case "length":
				rw.Header().Set("Content-Length", "3")
				io.WriteString(rw, "hello")
			case "none":
				rw.WriteHeader(42)
			case "empty":
				rw.WriteHeader(http.StatusNoContent)
			}
		})
		for range 2 {
			require.Equal(w, "hello", w.send(request{keys: []string{"length"}, path: "/orders?do=length"}).text)
			require.Equal(w, http.StatusNoContent, w.send(request{keys: []string{"empty"}, path: "/orders?do=empty"}).StatusCode)
			require.Equal(w, http.StatusOK, w.send(request{keys: []string{"silent"}, path: "/orders?do=nothing"}).StatusCode)
		}
		_, err := w.try(w.Context(), request{keys: []string{"none"}, path: "/orders?do=none"})
		require.Error(w, err)
		require.Equal(w, onejob.StatusUnknown, w.only("user-7", "none").Status())
	})
}

// The store is away for a moment when the handler returns, or when the attempt
// was begun: neither blocks the key.
func TestAShortOutageBlocksNoKey(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	w := newWorld(t, env.Store)
	l := w.layer()
	w.serve(l, l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.runs.Add(1) == 1 {
			env.Down()
		}
		created(rw, r)
	})))
	require.Equal(t, http.StatusCreated, w.send(key("k")).StatusCode)
	env.Up()
	wait := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, l.Wait(ctx))
	}
	wait()
	a := w.send(key("k"))
	require.Equal(t, http.StatusCreated, a.StatusCode)
	require.Equal(t, "true", a.Header.Get("Idempotent-Replayed"))

	env.Down() // nothing comes of this one, and nothing is left behind
	w.problem(w.send(key("m")), http.StatusServiceUnavailable, "store-unavailable")
	env.Up()
	wait()
	w.noJob("user-7", "m")

	env.CutReplyThenDown()
	w.problem(w.send(key("l")), http.StatusServiceUnavailable, "store-unavailable")
	env.Up()
	wait()
	require.Equal(t, http.StatusCreated, w.send(key("l")).StatusCode)
	require.Equal(t, int64(2), w.runs.Load())
}

// For hosts with handlers of their own.
func TestWriteAnswersForTheHost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		l := w.layer()
		in := onejob.Intent{Owner: "user-7", Key: "k", Kind: "order"}
		job, made, err := w.jobs.Create(w.Context(), in)
		require.NoError(w, err)
		answerTo := func(write func(rw http.ResponseWriter, r *http.Request)) *httptest.ResponseRecorder {
			rec := httptest.NewRecorder()
			write(rec, httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/", nil))
			return rec
		}
		first := answerTo(func(rw http.ResponseWriter, r *http.Request) { l.WriteCreated(rw, r, job, made, nil) })
		require.Equal(w, http.StatusAccepted, first.Code)
		require.Empty(w, first.Header().Get("Idempotent-Replayed"))
		again := answerTo(func(rw http.ResponseWriter, r *http.Request) { l.WriteCreated(rw, r, job, false, nil) })
		require.Equal(w, "true", again.Header().Get("Idempotent-Replayed"))
		for err, want := range map[error]int{
			onejob.ErrRetryTx: 503, onejob.ErrUnavailable: 503, onejob.ErrFailed: 503, onejob.ErrInvalid: 400, onejob.ErrNotFound: 404,
			onejob.ErrJobCanceled: 409, onejob.ErrTooManyAttempts: 409, onejob.ErrNotQualified: 409, errors.New("canary"): 500,
		} {
			got := answerTo(func(rw http.ResponseWriter, r *http.Request) { l.Write(rw, r, onejob.Job{}, err) })
			require.Equal(w, want, got.Code, "%v", err)
			require.NotContains(w, got.Body.String(), "canary")
		}
		none := answerTo(func(rw http.ResponseWriter, r *http.Request) { l.Write(rw, r, onejob.Job{}, nil) })
		require.Equal(w, http.StatusInternalServerError, none.Code)
	})
}

// The type of each problem is a place on a page that says what to do.
func TestEachProblemIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/http.md")
	require.NoError(t, err)
	for _, kind := range idempotency.Problems {
		require.Contains(t, string(page), `<a id="problem-`+kind+`"></a>`)
	}
	require.Greater(t, len(idempotency.Problems), 15)
	require.True(t, strings.HasSuffix(idempotency.ProblemBase, "docs/http.md#problem-"))
}

// A batch that serves other requests within its own: each has its own job and its
// own verdict.
func TestARequestWithinARequestIsAJobOfItsOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		l, charges := w.layer(), 0
		mux := http.NewServeMux()
		inner := func(r *http.Request, path, key string) int {
			sub := httptest.NewRequestWithContext(r.Context(), http.MethodPost, path, strings.NewReader("{}"))
			sub.Header.Set("X-User", "user-7")
			sub.Header.Set("Content-Type", "application/json")
			sub.Header.Set("Idempotency-Key", key)
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, sub)
			return rec.Code
		}
		mux.Handle("/orders", l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			inner(r, "/charge", "item-0")
			rw.WriteHeader(inner(r, "/check", "item-1"))
		})))
		mux.Handle("/charge", l.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { charges++ })))
		mux.Handle("/check", l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			idempotency.NothingHappened(r.Context())
			rw.WriteHeader(http.StatusUnprocessableEntity)
		})))
		w.serve(l, mux)
		for range 2 {
			require.Equal(w, http.StatusUnprocessableEntity, w.send(key("batch")).StatusCode)
		}
		require.Equal(w, 1, charges)
		require.Equal(w, onejob.StatusCompleted, w.only("user-7", "item-0").Status())
		require.Equal(w, onejob.StatusCompleted, w.only("user-7", "batch").Status())
	})
}

// flaky gives no answer to the first so many completions.
type flaky struct {
	onejob.Store
	left *atomic.Int32
}

func (f flaky) Complete(ctx context.Context, p onejob.CompleteParams) (onejob.Record, bool, error) {
	if f.left.Add(-1) >= 0 {
		return onejob.Record{}, false, errors.New("connection reset")
	}
	return f.Store.Complete(ctx, p)
}

func (f flaky) Find(ctx context.Context, p onejob.FindParams) (onejob.Record, error) {
	if f.left.Load() > 0 {
		return onejob.Record{}, errors.New("connection reset")
	}
	return f.Store.Find(ctx, p)
}

// slowStart takes its time to say that an attempt has begun.
type slowStart struct {
	onejob.Store
	by time.Duration
}

func (s slowStart) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	rec, begun, err := s.Store.Start(ctx, p, try)
	time.Sleep(s.by)
	return rec, begun, err
}

func TestWhatIsStoredBehindTheAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		left := new(atomic.Int32)
		w.jobs = onejob.New(flaky{w.store, left}, nil)
		l := w.layer()
		w.serve(l, l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { left.Store(6); created(rw, r) })))
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		defer cancel()
		require.NoError(w, l.Wait(ctx))
		require.Equal(w, "true", w.send(key("k")).Header.Get("Idempotent-Replayed"))
	})
}

// Who hears only after the attempt's time that it has begun runs no handler, and
// blocks no key.
func TestAHandlerIsNotRunAfterItsTime(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.jobs = onejob.New(slowStart{w.store, 300 * time.Millisecond}, nil)
		l := w.layer(func(o *idempotency.Options) { o.Timeout = 200 * time.Millisecond })
		w.serve(l, l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.runs.Add(1) })))
		w.problem(w.send(key("k")), http.StatusServiceUnavailable, "store-unavailable")
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		defer cancel()
		require.NoError(w, l.Wait(ctx))
		require.Zero(w, w.runs.Load())
		require.Equal(w, onejob.StatusPending, w.only("user-7", "k").Status())
	})
}

// An OnComplete that panics where nobody waits ends no process.
func TestAPanicBehindTheAnswerEndsNoProcess(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		left := new(atomic.Int32)
		w.jobs = onejob.New(flaky{w.store, left}, &onejob.Options{
			OnComplete: func(context.Context, *sql.Tx, onejob.Job) error { panic("canary") },
		})
		l := w.layer()
		w.serve(l, l.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { left.Store(6); created(rw, r) })))
		require.Equal(w, http.StatusCreated, w.send(key("k")).StatusCode)
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		defer cancel()
		require.NoError(w, l.Wait(ctx))
		require.NotEqual(w, onejob.JobCompleted, w.only("user-7", "k").State)
		require.Contains(w, w.logs.String(), "a panic while")
		require.NotContains(w, w.logs.String(), "canary")
	})
}
