package idempotency_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
)

// Keys, owners and bodies are in no log and in no problem, whatever happens.
func TestNothingOfTheClientsIsLogged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		logger := slog.New(idempotency.LogHandler(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
		w.jobs = onejob.New(w.store, &onejob.Options{Logger: logger, MaxResult: 200})
		w.op = onejob.NewOperator(w.jobs)
		w.wrap(func(rw http.ResponseWriter, r *http.Request) {
			logger.InfoContext(r.Context(), "at work")
			switch r.URL.Query().Get("do") {
			case "fail":
				http.Error(rw, "canary-body", http.StatusInternalServerError)
			case "large":
				io.WriteString(rw, strings.Repeat("canary-body", 100))
			case "panic":
				panic(http.ErrAbortHandler)
			case "cancel":
				job, _ := idempotency.JobFrom(r.Context())
				_, err := w.op.CancelJob(r.Context(), job.ID, onejob.Decision{By: "ada", Reason: "asked"})
				require.NoError(w, err)
			default:
				io.WriteString(rw, "canary-body")
			}
		}, func(o *idempotency.Options) { o.Logger = logger })
		var told bytes.Buffer
		for _, do := range []string{"", "fail", "large", "panic", "cancel"} {
			for _, body := range []string{`{"canary-params":1}`, `{"canary-params":2}`} {
				a, err := w.try(w.Context(), request{
					keys: []string{`"canary-key-` + do + `"`}, user: "canary-owner", body: body, path: "/orders?do=" + do,
				})
				if err == nil && a.Header.Get("Content-Type") == "application/problem+json" {
					told.WriteString(a.text)
				}
			}
		}
		require.NotContains(w, w.logs.String(), "canary")
		require.NotContains(w, told.String(), "canary")
		require.Contains(w, w.logs.String(), "msg=\"at work\" job=", "the handler's own lines carry the job")
		require.Contains(w, w.logs.String(), "attempt=")
	})
}

// A response that Options.MaxResult refuses was sent, and is not executed again.
func TestAResponseOverTheResultsLimitIsAStub(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.jobs = onejob.New(w.store, &onejob.Options{MaxResult: 200})
		w.wrap(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, strings.Repeat("x", 1000)) })
		require.Equal(w, strings.Repeat("x", 1000), w.send(key("k")).text)
		w.problem(w.send(key("k")), http.StatusGone, "response-not-replayable")
		require.Equal(w, int64(1), w.runs.Load())
	})
}

// What clients send as a key never makes a panic, a key out of bounds, or two
// identities of one.
func FuzzKey(f *testing.F) {
	for _, s := range []string{`"k"`, `k`, `"a\"b"`, `"k";p=1`, `?1`, `42`, `("k")`, `"k`, "\"\x00\"", `k;a=":";b`, `"k", "l"`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := idempotency.ParseKey(text, false)
		strict, serr := idempotency.ParseKey(text, true)
		if serr == nil {
			require.NoError(t, err)
			require.Equal(t, strict, key)
		}
		if err != nil {
			require.Empty(t, key)
			return
		}
		require.NotEmpty(t, key)
		for i := range len(key) {
			require.True(t, key[i] >= 0x20 && key[i] <= 0x7e)
		}
		// Quoted, it is the same key.
		again, err := idempotency.ParseKey(`"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key)+`"`, true)
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

// A result that looks almost like a recorded response is not one.
func TestOnlyARecordedResponseIsReplayed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.create()
		for i, result := range []string{
			"{\"onejob-response\":\"1\",\"status\":99,\"size\":0}\n", "{\"onejob-response\":\"1\",\"status\":200,\"size\":5}\nbody",
			"{\"onejob-response\":\"2\",\"status\":200,\"size\":4}\nbody", "body", "", "\x00\xff", "[1]\n",
		} {
			k := string(rune('a' + i))
			w.send(key(k))
			a, err := w.jobs.BeginAttempt(w.Context(), w.only("user-7", k), onejob.Try{Provider: "p", Timeout: 1 << 40})
			require.NoError(w, err)
			_, err = w.jobs.Complete(w.Context(), a, []byte(result))
			require.NoError(w, err)
			got := w.send(key(k))
			require.Equal(w, http.StatusOK, got.StatusCode)
			var view struct {
				Result json.RawMessage
				Bytes  []byte `json:"result_bytes"`
			}
			require.NoError(w, json.Unmarshal([]byte(got.text), &view))
			if json.Valid([]byte(result)) {
				require.JSONEq(w, result, string(view.Result))
			} else {
				require.Equal(w, result, string(view.Bytes))
			}
		}
	})
}
