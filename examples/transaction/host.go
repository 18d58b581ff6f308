package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
	"github.com/onejob-go/onejob/examples/internal/timeline"
)

const owner = "alice"

const hostTables = `
CREATE TABLE orders (job_id TEXT PRIMARY KEY) STRICT;
CREATE TABLE ledger (job_id TEXT NOT NULL, attempt_id TEXT NOT NULL) STRICT;
CREATE TABLE shipments (attempt_id TEXT NOT NULL) STRICT`

var (
	errLedgerClosed = errors.New("the ledger is closed")
	errSoldOut      = errors.New("the item is sold out")
)

// shop is the host: its tables and the jobs share a database.
type shop struct {
	tl     *timeline.Timeline
	jobs   *onejob.Jobs
	op     *onejob.Operator
	reader *sql.DB // the host's own pool, for its own reads
	closed bool
}

func openShop(ctx context.Context, db *tempdb.DB) (*shop, error) {
	s := &shop{}
	s.jobs = onejob.New(db, &onejob.Options{OnComplete: s.ledger})
	s.op = onejob.NewOperator(s.jobs)
	err := s.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, hostTables)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.reader, err = sql.Open("sqlite", db.Path)
	return s, err
}

// ledger is the OnComplete hook. Its error undoes the completion.
func (s *shop) ledger(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO ledger VALUES (?, ?)`, string(job.ID), string(job.Attempt.ID)); err != nil {
		return err
	}
	if s.closed {
		return errLedgerClosed
	}
	return nil
}

func (s *shop) insertOrder(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?)`, string(job.ID))
	return err
}

func (s *shop) insertShipment(ctx context.Context, tx *sql.Tx, a onejob.Attempt) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO shipments VALUES (?)`, string(a.ID))
	return err
}

// rows counts what is committed, seen from another connection; -1 if it cannot.
func (s *shop) rows(ctx context.Context, table string) int {
	n := -1
	if err := s.reader.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		return -1
	}
	return n
}

func charge(key string) onejob.Intent {
	return onejob.Intent{Owner: owner, Key: key, Kind: "charge", Params: []byte(`{"cents": 4500}`)}
}

// race makes a job with two attempts under way, both of which may win.
func (s *shop) race(ctx context.Context, key string) (job onejob.Job, first, second onejob.Attempt, err error) {
	job, first, err = s.jobs.Start(ctx, charge(key), onejob.Try{Provider: "primary", Timeout: time.Minute})
	if err != nil {
		return job, first, second, err
	}
	s.tl.Row("primary", "leaves    attempt 1")
	ann := onejob.Decision{By: "ann", Reason: "it takes too long"}
	if job, err = s.op.DetachAttempt(ctx, first.ID, ann); err != nil {
		return job, first, second, err
	}
	s.tl.Row(ann.By, "detaches  attempt 1")
	second, err = s.jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "fallback", Timeout: time.Minute})
	if err == nil {
		s.tl.Row("fallback", "leaves    attempt 2")
	}
	return job, first, second, err
}

// outcome says in a few words how a call ended.
func outcome(err error) string {
	if e, ok := errors.AsType[*onejob.Error](err); ok && errors.Is(e, onejob.ErrLateResult) {
		return "ErrLateResult: thrown away"
	}
	if err != nil {
		return err.Error()
	}
	return "committed"
}
