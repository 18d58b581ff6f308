package grid

import (
	"context"
	"database/sql"
	"errors"

	"github.com/onejob-go/onejob"
)

// completing are the operations that bring a result.
var completing = []*operation{
	{
		name: "Complete, winning", setup: started,
		run:   complete(result),
		there: won, versions: 1,
	},
	{
		name: "Complete, winning, with OnComplete", setup: started,
		run:   complete(result),
		there: func(w *world, v view) bool { return won(w, v) && v.rows == 1 }, versions: 1, rows: 1, hook: true,
	},
	{
		name: "Complete, losing to another", setup: lostToAnother,
		run:    complete([]byte(loserMark)),
		answer: onejob.ErrLateResult,
		there:  func(w *world, v view) bool { return v.attempt(w.Attempt.ID)["state"] == "late" },
	},
	{
		name: "Complete, losing, with OnComplete", setup: lostToAnother,
		run:    complete([]byte(loserMark)),
		answer: onejob.ErrLateResult,
		there:  func(w *world, v view) bool { return v.attempt(w.Attempt.ID)["state"] == "late" },
		hook:   true,
	},
	{
		name: "CompleteTx, and the host commits", setup: started,
		run: func(ctx context.Context, h *host) error {
			return h.inTx(ctx, func(tx *sql.Tx) error {
				if _, err := h.jobs.CompleteTx(ctx, tx, h.w.Attempt, result); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, h.bind(insertOnce), h.w.Key)
				return err
			})
		},
		there:    func(w *world, v view) bool { return won(w, v) && v.rows == 1 },
		versions: 1, rows: 1, hostTx: true,
	},
	{
		name: "CompleteTx refused (late), and the host commits", setup: lostToAnother,
		run: func(ctx context.Context, h *host) error {
			return h.inTx(ctx, func(tx *sql.Tx) error {
				if _, err := h.jobs.CompleteTx(ctx, tx, h.w.Attempt, []byte(loserMark)); !errors.Is(err, onejob.ErrLateResult) {
					return err
				}
				_, err := tx.ExecContext(ctx, h.bind(insertOnce), h.w.Key)
				return err
			})
		},
		there: func(w *world, v view) bool { return v.rows == 1 && v.attempt(w.Attempt.ID)["state"] == "late" },
		rows:  1, hostTx: true,
	},
	{
		name: "Tx with CreateTx, CompleteTx and rows", setup: started,
		run: func(ctx context.Context, h *host) error {
			return h.jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				_, created, err := h.jobs.CreateTx(ctx, tx, h.w.intent("-next"))
				if err == nil && created {
					_, err = tx.ExecContext(ctx, h.bind(insertRow), h.w.Key)
				}
				if err == nil {
					_, err = h.jobs.CompleteTx(ctx, tx, h.w.Attempt, result)
				}
				return err
			})
		},
		there:    func(w *world, v view) bool { return won(w, v) && v.rows == 1 && v.job("-next") != nil },
		versions: 2, rows: 1,
	},
}

func complete(result []byte) func(context.Context, *host) error {
	return func(ctx context.Context, h *host) error {
		_, err := h.jobs.Complete(ctx, h.w.Attempt, result)
		return err
	}
}

func won(w *world, v view) bool {
	job := v.job(w.Key)
	return job != nil && job["state"] == "completed" && job["result"] == string(result) &&
		v.attempt(w.Attempt.ID)["state"] == "succeeded"
}

// lostToAnother is an attempt that was detached and whose successor has won.
func lostToAnother(ctx context.Context, h *host) error {
	if err := started(ctx, h); err != nil {
		return err
	}
	if _, err := h.operator.DetachAttempt(ctx, h.w.Attempt.ID, decision); err != nil {
		return err
	}
	second, err := h.jobs.BeginAttempt(ctx, h.w.Job, onejob.Try{Provider: "laser", Timeout: h.w.Attempt.Timeout})
	if err != nil {
		return err
	}
	return h.inTx(ctx, func(tx *sql.Tx) error { // without OnComplete
		_, err := h.jobs.CompleteTx(ctx, tx, second, result)
		return err
	})
}

var decision = onejob.Decision{By: "dana", Reason: "looked it up"}
