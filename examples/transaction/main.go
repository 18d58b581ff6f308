// Transaction shows the host's own rows and the job in one commit.
//
//	go run ./examples/transaction
//
// What to look at: the host's tables in host.go are in the same database as the
// jobs, and there are two ways to write to both at once.
//
// Options.OnComplete (shop.ledger) runs inside the transaction of whoever
// completes a job: the one place for what must be booked once. Jobs.Tx opens a
// transaction of the store's own for CreateTx, CompleteTx and the host's
// statements. In the output compare the counted rows before and after.
//
// The program ends with status 1 if a promise is broken.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

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
	s, err := openShop(ctx, db)
	if err != nil {
		return err
	}
	defer s.reader.Close()
	s.tl = timeline.New(w)

	fmt.Fprintln(w, "transaction: the host's rows and the job in one commit, jobs in SQLite")
	for _, scene := range []func(context.Context) error{s.winnerIsBooked, s.orderWithJob, s.loserRollsBack} {
		if err := scene(ctx); err != nil {
			return errors.Join(s.tl.Err(), err)
		}
	}
	return s.tl.Err()
}

// winnerIsBooked: OnComplete writes the ledger for the winner, and only then.
func (s *shop) winnerIsBooked(ctx context.Context) error {
	s.tl.Scene("OnComplete: the ledger is written with the winner")
	job, first, second, err := s.race(ctx, "order-45")
	if err != nil {
		return err
	}
	s.closed = true
	_, err = s.jobs.Complete(ctx, second, []byte("fallback's receipt"))
	s.tl.Row("fallback", "returns   the ledger is closed: refused")
	now, getErr := s.jobs.Get(ctx, owner, job.ID)
	s.tl.Promise(errors.Is(err, errLedgerClosed) && getErr == nil && now.Status() == onejob.StatusRunning && s.rows(ctx, "ledger") == 0,
		"all or nothing: the job is %s, rows in the ledger: %d", now.Status(), s.rows(ctx, "ledger"))

	s.closed = false
	done, err := s.jobs.Complete(ctx, second, []byte("fallback's receipt"))
	s.tl.Row("fallback", "returns   again: the job is %s", done.Status())
	s.tl.Promise(err == nil && s.rows(ctx, "ledger") == 1, "one commit: rows in the ledger: %d", s.rows(ctx, "ledger"))

	_, err = s.jobs.Complete(ctx, second, []byte("fallback's receipt"))
	s.tl.Row("fallback", "repeats   as after a lost reply: %s", outcome(err))
	_, lateErr := s.jobs.Complete(ctx, first, []byte("primary's receipt"))
	s.tl.Row("primary", "returns   %s", outcome(lateErr))
	s.tl.Promise(err == nil && errors.Is(lateErr, onejob.ErrLateResult) && s.rows(ctx, "ledger") == 1,
		"booked once, and not for the loser: rows in the ledger: %d", s.rows(ctx, "ledger"))
	return nil
}

// orderWithJob: CreateTx and the host's order are there together or not at all.
func (s *shop) orderWithJob(ctx context.Context) error {
	s.tl.Scene("Jobs.Tx with CreateTx: the order and its job")
	order := func(soldOut bool) error {
		return s.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			job, _, err := s.jobs.CreateTx(ctx, tx, charge("order-46"))
			if err != nil {
				return err
			}
			if err := s.insertOrder(ctx, tx, job); err != nil {
				return err
			}
			if soldOut {
				return errSoldOut
			}
			return nil
		})
	}
	err := order(true)
	_, getErr := s.jobs.GetByKey(ctx, owner, "order-46")
	s.tl.Row("host", "job and order written, then: %s", outcome(err))
	s.tl.Promise(errors.Is(err, errSoldOut) && errors.Is(getErr, onejob.ErrNotFound) && s.rows(ctx, "orders") == 0,
		"rolled back together: no job, orders: %d", s.rows(ctx, "orders"))

	err = order(false)
	job, getErr := s.jobs.GetByKey(ctx, owner, "order-46")
	s.tl.Row("host", "job and order written, then: %s", outcome(err))
	s.tl.Promise(err == nil && getErr == nil && s.rows(ctx, "orders") == 1,
		"committed together: the job is %s, orders: %d", job.Status(), s.rows(ctx, "orders"))
	return nil
}

// loserRollsBack: a CompleteTx that loses takes the host's row with it, even
// where the host forgets to look at the error.
func (s *shop) loserRollsBack(ctx context.Context) error {
	s.tl.Scene("Jobs.Tx with CompleteTx: the loser's rows go, its evidence stays")
	_, first, second, err := s.race(ctx, "order-47")
	if err != nil {
		return err
	}
	ship := func(a onejob.Attempt) error {
		return s.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := s.insertShipment(ctx, tx, a); err != nil {
				return err
			}
			_, _ = s.jobs.CompleteTx(ctx, tx, a, []byte(a.Provider+"'s receipt")) // careless
			return nil
		})
	}
	err = ship(second)
	s.tl.Row("fallback", "ships     %s", outcome(err))
	lateErr := ship(first)
	s.tl.Row("primary", "ships     %s", outcome(lateErr))
	s.tl.Promise(err == nil && errors.Is(lateErr, onejob.ErrLateResult) && s.rows(ctx, "shipments") == 1,
		"the loser's row was rolled back, shipments: %d", s.rows(ctx, "shipments"))

	_, late, err := s.jobs.GetAttempt(ctx, first.ID)
	s.tl.Promise(err == nil && late.State == onejob.StateLate && late.LateSize == int64(len("primary's receipt")),
		"its evidence was kept: attempt %d is %s, %d bytes thrown away", late.Number, late.State, late.LateSize)
	return nil
}
