// Charge is a small payment service with the tests that such a service should
// have.
//
//	go run ./examples/charge    # a click, a silent bank, and how the doubt ends
//	go test ./examples/charge   # the same and more, under faults
//
// What to look at: charge_test.go, which is there to be copied, with service.go
// and bank.go; main.go is only the demonstration. It needs testify and uses package
// onejobtest for a database of its own per test, a clock that it moves, lost
// replies and outages. The service is in service.go: a handler, a webhook, a
// row of its own in the commit that completes the job (book), and what asks the
// bank about doubts (reconcile).
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

func main() { timeline.Main(run) }

func run(ctx context.Context, w io.Writer, _ []string) (err error) {
	db, err := tempdb.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Remove()) }()
	reader, err := sql.Open("sqlite", db.Path)
	if err != nil {
		return err
	}
	defer reader.Close()

	bank := &memoryBank{}
	s := &service{bank: bank, timeout: 100 * time.Millisecond}
	s.jobs = onejob.New(db, s.options())
	if err := s.migrate(ctx); err != nil {
		return err
	}
	st := &story{ctx: ctx, tl: timeline.New(w), s: s, bank: bank, reader: reader}
	fmt.Fprintln(w, "charge: POST /charges, jobs in SQLite; its tests are what to look at")
	st.doubleClick()
	if err := st.silentBank(); err != nil {
		return errors.Join(st.tl.Err(), err)
	}
	return st.tl.Err()
}

type story struct {
	ctx    context.Context
	tl     *timeline.Timeline
	s      *service
	bank   *memoryBank
	reader *sql.DB
}

func (st *story) doubleClick() {
	st.tl.Scene("a double click")
	first, second := st.click("order-1"), st.click("order-1")
	st.tl.Promise(first.Code == 200 && second.Code == 200 && first.Body.String() == second.Body.String(),
		"one receipt for both: %s", strings.TrimSpace(second.Body.String()))
	st.accounts(1)
}

func (st *story) silentBank() error {
	st.tl.Scene("the bank charges, and its answer does not come")
	st.bank.answers(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	first := st.click("order-2")
	st.bank.answers(nil)
	second := st.click("order-2")
	st.tl.Promise(first.Code == http.StatusConflict && second.Code == http.StatusConflict, "a doubt blocks: HTTP %d, and again %d", first.Code, second.Code)
	st.accounts(1)

	time.Sleep(time.Millisecond) // whatever was sent has arrived, in this bank
	unknown, err := st.s.reconcile(st.ctx, time.Now())
	if err != nil {
		return err
	}
	st.tl.Row("host", "asks the bank about its doubts; left: %d", unknown)
	third := st.click("order-2")
	st.tl.Promise(third.Code == 200, "knowledge ends the doubt: %s", strings.TrimSpace(third.Body.String()))
	st.accounts(2)
	return nil
}

func (st *story) click(key string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(st.ctx, http.MethodPost, "/charges", strings.NewReader(`{"cents": 4500}`))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	st.s.handler().ServeHTTP(w, r)
	st.tl.Row("user", "clicks: HTTP %d", w.Code)
	return w
}

// accounts compares the host's ledger with what the bank was asked to do.
func (st *story) accounts(rows int) {
	n := -1
	_ = st.reader.QueryRowContext(st.ctx, `SELECT count(*) FROM ledger`).Scan(&n)
	st.tl.Promise(n == rows, "rows in the ledger: %d; charges that the bank was asked for: %d", n, len(st.bank.calls()))
}
