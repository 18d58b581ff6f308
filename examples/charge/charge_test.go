package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

// host is the service in a test: on a database and a clock of the test's own.
type host struct {
	*onejobtest.Env
	*service
	t    *testing.T
	bank *memoryBank
}

func newHost(t *testing.T) *host {
	bank := &memoryBank{}
	s := &service{bank: bank, timeout: 50 * time.Millisecond}
	env := onejobtest.New(t, s.options())
	s.jobs = env.Jobs
	require.NoError(t, s.migrate(t.Context()))
	return &host{env, s, t, bank}
}

// post sends a request and requires its status.
func (h *host) post(want int, path, key, body string) reply {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, r)
	require.Equal(h.t, want, w.Code, w.Body)
	var got reply
	if w.Body.Len() > 0 && want != http.StatusNotFound {
		require.NoError(h.t, json.Unmarshal(w.Body.Bytes(), &got))
	}
	return got
}

func (h *host) click(want int) reply {
	h.t.Helper()
	return h.post(want, "/charges", "order-1", `{"cents": 4500}`)
}

func (h *host) job() onejob.Job {
	h.t.Helper()
	job, err := h.jobs.GetByKey(h.t.Context(), owner, "order-1")
	require.NoError(h.t, err)
	return job
}

// ledger returns the receipts that are booked.
func (h *host) ledger() (receipts string) {
	h.t.Helper()
	require.NoError(h.t, h.DB.QueryRow(`SELECT coalesce(group_concat(receipt), '') FROM ledger`).Scan(&receipts))
	return receipts
}

// silence: the bank has charged, and no answer comes.
func silence(context.Context) error { return context.DeadlineExceeded }

var ada = onejob.Decision{By: "ada", Reason: "I have asked the bank"}

func TestADoubleClickChargesOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var clicks sync.WaitGroup
	for range 8 {
		clicks.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/charges", strings.NewReader(`{"cents": 4500}`))
			r.Header.Set("Idempotency-Key", "order-1")
			h.handler().ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	clicks.Wait()
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	require.Len(t, h.bank.calls(), 1)
	require.Equal(t, `"receipt 1"`, h.ledger())
}

func TestTheSameKeyForAnotherOrderIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.click(http.StatusOK)
	h.post(http.StatusConflict, "/charges", "order-1", `{"cents": 1}`)
	require.Len(t, h.bank.calls(), 1)
}

func TestNoAnswerIsADoubtAndBlocks(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]error{"timeout": context.DeadlineExceeded, "connection": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.bank.answers(func(context.Context) error { return ended })
			require.Equal(t, onejob.StatusUnknown, h.click(http.StatusConflict).Status)
			h.bank.answers(nil)
			h.Advance(24 * time.Hour)
			h.click(http.StatusConflict)
			require.Len(t, h.bank.calls(), 1, "time alone must not end a doubt")
			require.Empty(t, h.ledger())
			require.Equal(t, `
      0s  job created: charge
      0s  attempt 1 began: bank, deadline at 50ms
      0s  attempt 1 unknown: its call left a doubt
 24h0m0s  now: unknown
`, "\n"+h.Timeline(h.job().ID))
		})
	}
}

func TestARefusalMayBeRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(func(context.Context) error { return errRefused })
	h.click(http.StatusBadGateway)
	h.bank.answers(nil)
	h.click(http.StatusOK)
}

func TestALostReplyIsNoSecondCharge(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(func(context.Context) error {
		h.CutReply() // of the commit that completes the job
		return nil
	})
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	h.click(http.StatusOK)
	require.Len(t, h.bank.calls(), 1)
	require.Equal(t, `"receipt 1"`, h.ledger(), "booked once")
}

// The attempt began, but we never heard of it and so never asked the bank.
// Nobody who comes later can know that.
func TestAnOutageBeforeTheChargeIsADoubtThatTheBankEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.CutReplyThenDown()
	h.click(http.StatusServiceUnavailable)
	h.Up()
	require.Empty(t, h.bank.calls())
	h.click(http.StatusAccepted)
	h.Advance(time.Hour)
	h.click(http.StatusConflict)

	unknown, err := h.reconcile(t.Context(), h.Now().Add(-time.Minute))
	require.NoError(t, err)
	require.Zero(t, unknown)
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	require.Len(t, h.bank.calls(), 1)
}

// The bank has charged, and the process dies before it can write that down.
func TestACrashAfterTheChargeIsADoubtThatTheBankEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(func(context.Context) error {
		h.Down() // whatever the dying process may still try
		return nil
	})
	h.click(http.StatusConflict)
	h.Up()
	h.service = &service{bank: h.bank, timeout: h.timeout} // the next process
	h.jobs = onejob.New(h.Store, h.options())
	h.Advance(time.Hour)
	h.click(http.StatusConflict)

	unknown, err := h.reconcile(t.Context(), h.Now().Add(-time.Minute))
	require.NoError(t, err)
	require.Zero(t, unknown)
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	require.Len(t, h.bank.calls(), 1)
	require.Equal(t, `"receipt 1"`, h.ledger(), "booked by whoever completes the job")
}

func TestAResultAfterTheDeadlineEndsTheDoubt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(silence)
	h.click(http.StatusConflict)
	h.Advance(time.Hour)
	webhook := "/webhooks/bank/" + string(h.bank.calls()[0])
	for range 2 { // banks send more than once
		h.post(http.StatusNoContent, webhook, "", `"receipt 1"`)
	}
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	require.Equal(t, `"receipt 1"`, h.ledger())
}

func TestAWebhookThatIsNotStoredIsSentAgain(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(silence)
	h.click(http.StatusConflict)
	webhook := "/webhooks/bank/" + string(h.bank.calls()[0])
	h.Down()
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, webhook, strings.NewReader(`"receipt 1"`)))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	h.Up()
	h.post(http.StatusNoContent, webhook, "", `"receipt 1"`)
	h.click(http.StatusOK)
	h.post(http.StatusNotFound, "/webhooks/bank/x", "", `"receipt 1"`)
}

func TestAResultThatComesTooLateIsARefund(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(silence)
	h.click(http.StatusConflict)
	h.bank.answers(nil)
	first := h.bank.calls()[0]
	_, err := h.Operator.Refute(t.Context(), first, ada) // ada is mistaken
	require.NoError(t, err)
	require.JSONEq(t, `"receipt 2"`, string(h.click(http.StatusOK).Receipt))

	h.Advance(time.Hour)
	h.post(http.StatusNoContent, "/webhooks/bank/"+string(first), "", `"receipt 1"`)
	due, err := h.refunds(t.Context())
	require.NoError(t, err)
	require.Equal(t, []onejob.AttemptID{first}, due)
	require.Equal(t, `"receipt 2"`, h.ledger(), "a loser is not booked")
}

func TestAnOperatorsWordIsBookedLikeAnAnswer(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.bank.answers(silence)
	h.click(http.StatusConflict)
	_, err := h.Operator.Confirm(t.Context(), h.job().Attempt.ID, []byte(`"receipt 1"`), ada)
	require.NoError(t, err)
	require.JSONEq(t, `"receipt 1"`, string(h.click(http.StatusOK).Receipt))
	require.Len(t, h.bank.calls(), 1)
	require.Equal(t, `"receipt 1"`, h.ledger())
}
