package onejob

import (
	"context"
	"database/sql"
	"errors"
)

// runIn runs the write and keeps what it brings.
func (w *queued) runIn(q *ownRunner) { w.rec, w.ok, w.err = w.run(w.ctx, q) }

// runFirst runs the write where there is nothing else that it could undo. The
// host's code may swallow an error with which SQLite rolled all of it back:
// nothing more may be sent then.
func (w *queued) runFirst(q *ownRunner) error {
	w.runIn(q)
	if w.err == nil && w.hook {
		if err := outside(w.ctx, q.tx); err == nil || errors.Is(err, sql.ErrTxDone) {
			return errTxGone
		}
	}
	return w.err
}

// runInTurn runs the write in a leader's transaction, and tells it, also if the
// host's code never returns.
func (w *queued) runInTurn(t *turn) {
	sound := false
	defer func() { t.over <- sound }()
	sound = w.inSavepoint(t.q)
}

// inSavepoint runs the write so that the host's refusal undoes nothing else. It
// reports whether the transaction may go on.
func (w *queued) inSavepoint(q *ownRunner) bool {
	if w.err = send(w.ctx, q.tx, "SAVEPOINT onejob_write"); w.err != nil {
		return false
	}
	w.runIn(q)
	if w.err == nil {
		// Fails if the host's code swallowed an error with which SQLite rolled
		// the whole transaction back, or left rows open that still write.
		return send(w.ctx, q.tx, "RELEASE onejob_write") == nil
	}
	var refusal hookError
	if !errors.As(w.err, &refusal) {
		return false
	}
	return send(w.ctx, q.tx, "ROLLBACK TO onejob_write") == nil && send(w.ctx, q.tx, "RELEASE onejob_write") == nil
}

func send(ctx context.Context, tx *sql.Tx, command string) error {
	_, err := tx.ExecContext(ctx, command)
	return err
}
