package onejob

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"reflect"
	"time"
)

// Tx runs fn in a transaction of the store's own, in which CreateTx,
// CompleteTx and the host's statements go together: on PostgreSQL at read
// committed, on SQLite on the writer, begun IMMEDIATE. It commits when fn
// returns nil; an error of fn's rolls back and is returned as it is, and so is
// the database's when COMMIT meets a broken constraint.
//
// When a CompleteTx within it loses, Tx rolls back whatever fn returns, keeps
// the evidence of the late result, and returns ErrLateResult unless fn
// returned an error of its own. When COMMIT gives no answer, what CreateTx or
// CompleteTx wrote is looked up: nil if it is there, ErrUnavailable if the
// fate stays unknown. ErrRetryTx: run it again.
//
// Under the context that fn gets, reads go through the transaction, and
// writes other than the Tx methods are refused at once with ErrInvalid: they
// would wait for this transaction for ever. Under the outer context nothing can
// refuse them: they hang until that ends, on SQLite always, on PostgreSQL where
// they meet a job that this transaction has changed.
func (s *Jobs) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) (err error) {
	const op = "Tx"
	ctx, w := s.observe(ctx, op)
	if w != nil {
		defer w.ends(nil, &err)
	}
	if s.txStore == nil {
		return &Error{Op: op, Err: ErrUnsupported}
	}
	if fn == nil {
		return named(op, invalid("fn", "is required"))
	}
	if err := s.mayWrite(ctx, op); err != nil {
		return err
	}
	o := &openTx{}
	w.host(true)
	err = s.txStore.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		o.tx = tx
		s.txs.Store(tx, o)
		defer s.txs.Delete(tx)
		o.err = fn(s.withTx(ctx, o), tx)
		if o.err == nil {
			o.err = o.lateErr
		}
		o.ran = true
		return o.err
	})
	w.host(false)
	for _, id := range o.ended {
		s.mayEndWait(id)
	}
	switch {
	case o.ran && o.err != nil:
		s.keepEvidence(ctx, o)
		s.refresh(ctx, o)
		return o.err
	case err == nil:
		return nil
	case constraint(err):
		return err
	case retryTx(err):
		return &Error{Op: op, Err: ErrRetryTx, Cause: err}
	case o.ran && s.committed(ctx, o):
		return nil
	}
	return unavailable(op, err)
}

// openTx is a running transaction of Tx, or of OnComplete, and what was done
// in it.
type openTx struct {
	tx        *sql.Tx
	ran       bool
	err       error
	created   JobID     // a job that stands if and only if the transaction does
	completed AttemptID // a winner, which may also have won elsewhere since
	endedAt   time.Time // when it won here
	ended     []JobID   // all that were completed here
	late      []CompleteParams
	lateErr   error // the last one's
}

// keepEvidence records the late results of a transaction that was rolled back.
func (s *Jobs) keepEvidence(ctx context.Context, o *openTx) {
	if len(o.late) == 0 {
		return
	}
	own, cancel := detached(ctx)
	defer cancel()
	for _, p := range o.late {
		p.Drop = true
		if _, _, err := s.store.Complete(own, p); err != nil {
			s.log.WarnContext(own, "onejob: evidence of a late result was not kept",
				"attempt", string(p.ID), "cause", causeText(err))
		}
	}
}

// refresh brings the facts of a lost CompleteTx up to date: it may have lost to
// another one in the very transaction that was rolled back.
func (s *Jobs) refresh(ctx context.Context, o *openTx) {
	var e *Error
	if o.lateErr == nil || !errors.As(o.lateErr, &e) {
		return
	}
	p := o.late[len(o.late)-1]
	own, cancel := detached(ctx)
	defer cancel()
	rec, err := s.store.Find(own, FindParams{Attempt: p.ID, AnyOwner: true, Clock: s.clock})
	if err != nil || rec.Job.ID == "" {
		return
	}
	e.Job, e.Attempt = rec.Job, rec.Attempt
	switch {
	case rec.Job.State == JobCompleted:
		e.Attempt = rec.Job.Attempt
	case rec.Job.State == JobOpen && rec.Attempt != nil && !rec.Attempt.State.final() && rec.Job.Version == p.Version:
		// It has not lost to anything that stands.
		e.Err, e.Field, e.rule, e.self = ErrInvalid, "tx", "completed one job twice, all of it was rolled back", ""
	}
}

// committed looks up whether a transaction whose COMMIT gave no answer stands.
func (s *Jobs) committed(ctx context.Context, o *openTx) bool {
	own, cancel := detached(ctx)
	defer cancel()
	switch {
	case o.created != "":
		rec, err := s.store.Find(own, FindParams{ID: o.created, AnyOwner: true, Clock: s.clock})
		return err == nil && rec.Job.ID != ""
	case o.completed != "":
		rec, err := s.store.Find(own, FindParams{Attempt: o.completed, AnyOwner: true, Clock: s.clock})
		return err == nil && rec.Attempt != nil && rec.Attempt.State == StateSucceeded && rec.Job.EndedAt.Equal(o.endedAt)
	}
	return false
}

// txKey is the context key under which a store's running transaction is kept.
type txKey struct{ of any }

func (s *Jobs) withTx(ctx context.Context, o *openTx) context.Context {
	return context.WithValue(ctx, txKey{s.txKey}, o)
}

// inTx returns the running transaction that ctx belongs to, or nil.
func (s *Jobs) inTx(ctx context.Context) *openTx {
	if s.txStore == nil {
		return nil
	}
	o, _ := ctx.Value(txKey{s.txKey}).(*openTx)
	return o
}

// mayWrite refuses a context that has ended and one of a transaction.
func (s *Jobs) mayWrite(ctx context.Context, op string) error {
	if err := s.outsideTx(ctx, op); err != nil {
		return err
	}
	return ended(ctx, op)
}

func (s *Jobs) outsideTx(ctx context.Context, op string) error {
	if s.inTx(ctx) == nil {
		return nil
	}
	return named(op, invalid("ctx", "belongs to a running Tx or OnComplete: use CreateTx or CompleteTx there, or the outer context after it"))
}

// mayUse refuses a transaction that is none.
func (s *Jobs) mayUse(tx Tx) error {
	if s.txStore == nil {
		return &Error{Err: ErrUnsupported}
	}
	if v := reflect.ValueOf(tx); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("tx", "is required")
	}
	return nil
}

// witness notes what was done in tx, where it is one of Tx's: known by its
// context, where tx may be a wrapper, or, under another one, by itself.
func (s *Jobs) witness(ctx context.Context, tx Tx, note func(*openTx)) {
	own, plain := tx.(*sql.Tx)
	if o := s.inTx(ctx); o != nil && (!plain || own == o.tx) {
		note(o)
		return
	}
	if plain {
		if o, ok := s.txs.Load(own); ok {
			note(o.(*openTx))
		}
	}
}

// txView is a store within a transaction.
type txView struct {
	store TxStore
	tx    Tx
	won   bool // a Complete swapped
}

func (v *txView) Create(ctx context.Context, p CreateParams) (Record, error) {
	return v.store.CreateTx(ctx, v.tx, p)
}

func (v *txView) Complete(ctx context.Context, p CompleteParams) (Record, bool, error) {
	rec, won, err := v.store.CompleteTx(ctx, v.tx, p)
	v.won = v.won || won
	return rec, won, err
}

func (v *txView) Find(ctx context.Context, p FindParams) (Record, error) {
	return v.store.FindTx(ctx, v.tx, p)
}

// txError names what a host's transaction died of.
func txError(op string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Err == ErrUnavailable && e.Cause != nil {
		err = e.Cause
	}
	if retryTx(err) {
		return &Error{Op: op, Err: ErrRetryTx, Cause: err}
	}
	return unavailable(op, err)
}

// completionHook wraps Options.OnComplete for a store, nil where there is none.
// The jobs that it has completed itself are added to also.
func (s *Jobs) completionHook(also *[]JobID) func(ctx context.Context, tx *sql.Tx, job Job) error {
	if s.onComplete == nil {
		return nil
	}
	return func(ctx context.Context, tx *sql.Tx, job Job) error {
		// It may be run again: what it does to these bytes must not be written.
		job.Result = bytes.Clone(job.Result)
		o := &openTx{tx: tx}
		err := s.onComplete(s.withTx(ctx, o), tx, job)
		*also = append(*also, o.ended...)
		if err == nil || mayPass(ctx, tx, err) {
			return err
		}
		return hookError{err}
	}
}

// mayPass reports whether an error of OnComplete's is not its refusal but the
// database's, and may pass by itself: then it runs again. Errors of a network
// may be of the host's own calls, so the transaction is asked whether it lives.
func mayPass(ctx context.Context, tx *sql.Tx, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	if sqlState(err) != "" || sqliteCode(err) != 0 {
		return passingCause(err)
	}
	_, dead := tx.ExecContext(ctx, "SELECT 1")
	return dead != nil && passingCause(dead)
}

// hookError tells an error of OnComplete from one of the database: the first
// is the host's and final, the second leaves a doubt.
type hookError struct{ error }

func (e hookError) Unwrap() error { return e.error }
