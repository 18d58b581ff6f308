package onejob_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

func TestTxIsReadCommittedWhateverTheDatabasesDefault(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			h := newPGHost(t, level)
			err := h.jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				var now string
				require.NoError(t, tx.QueryRowContext(ctx, "SHOW transaction_isolation").Scan(&now))
				require.Equal(t, "read committed", now)
				h.snapshot(tx)
				job, _, err := h.jobs.Create(t.Context(), pgIntent("k"))
				require.NoError(t, err)
				found, created, err := h.jobs.CreateTx(ctx, tx, pgIntent("k"))
				require.NoError(t, err)
				require.False(t, created)
				require.Equal(t, job.ID, found.ID)
				return nil
			})
			require.NoError(t, err)
		})
	}
}

func TestStormUnderStricterDefaultIsolation(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			h := newPGHost(t, level)
			const n, rounds = 32, 4
			errs := make([]error, n)
			gates := [rounds]chan struct{}{}
			for i := range gates {
				gates[i] = make(chan struct{})
			}
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					for round, gate := range gates {
						<-gate
						for _, key := range []string{"a", "b", "c"} {
							errs[i] = errors.Join(errs[i], h.click(fmt.Sprint(key, round)))
						}
					}
				})
			}
			for _, gate := range gates {
				close(gate)
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			for round := range rounds {
				for _, key := range []string{"a", "b", "c"} {
					job, err := h.jobs.GetByKey(t.Context(), "owner-1", fmt.Sprint(key, round))
					require.NoError(t, err)
					require.Equal(t, onejob.StatusCompleted, job.Status())
				}
			}
		})
	}
}

// click creates the job, begins an attempt, lets others begin beside it, and
// completes. It returns what is no lawful answer to that.
func (h *pgHost) click(key string) error {
	ctx := h.Context()
	job, _, err := h.jobs.Create(ctx, pgIntent(key))
	if err != nil {
		return fmt.Errorf("Create: %w", err)
	}
	a, err := h.jobs.BeginAttempt(ctx, job, pgTry("primary"))
	if err != nil {
		return unless(err, onejob.ErrAttemptOpen, onejob.ErrCompleted, onejob.ErrTooManyAttempts)
	}
	if _, err = h.op.DetachAttempt(ctx, a.ID, onejob.Decision{By: "ada", Reason: "race"}); err != nil {
		return unless(err, onejob.ErrAttemptEnded)
	}
	_, err = h.jobs.Complete(ctx, a, []byte(a.ID))
	return unless(err, onejob.ErrLateResult)
}

func unless(err error, lawful ...error) error {
	for _, l := range lawful {
		if errors.Is(err, l) {
			return nil
		}
	}
	return err
}
