package storetest

import (
	"context"
	"database/sql"
	"io"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("lost answers",
	testCase{
		name: "the context ends with the answer",
		why:  "a client that gives up just then is why the answer is lost: what became of the step is looked up all the same",
		run: func(h *harness) {
			for _, step := range []struct {
				name string
				run  func(ctx context.Context, jobs *onejob.Jobs, job onejob.Job) (onejob.JobID, error)
			}{
				{"Create", func(ctx context.Context, jobs *onejob.Jobs, _ onejob.Job) (onejob.JobID, error) {
					job, created, err := jobs.Create(ctx, intent("create"))
					require.True(h, created)
					return job.ID, err
				}},
				{"Start", func(ctx context.Context, jobs *onejob.Jobs, _ onejob.Job) (onejob.JobID, error) {
					_, a, err := jobs.Start(ctx, intent("start"), try("primary"))
					return a.JobID, err
				}},
				{"BeginAttempt", func(ctx context.Context, jobs *onejob.Jobs, job onejob.Job) (onejob.JobID, error) {
					a, err := jobs.BeginAttempt(ctx, job, try("primary"))
					return a.JobID, err
				}},
			} {
				job := h.create("before " + step.name)
				ctx, cancel := context.WithCancel(h.ctx)
				id, err := step.run(ctx, h.over(&leaving{h.store, cancel}), job)
				require.NoError(h, err, step.name)
				require.ErrorIs(h, ctx.Err(), context.Canceled)
				_, _, err = h.op.Get(h.ctx, id)
				require.NoError(h, err, step.name)
			}
		},
	},
	testCase{
		name:  "COMMIT gives no answer",
		why:   "what was committed is looked up, also by a caller whose context ended meanwhile: an error would make the host do it again",
		needs: []ability{transactions},
		run: func(h *harness) {
			_, a := h.start("completed")
			for name, step := range map[string]func(ctx context.Context, jobs *onejob.Jobs, tx *sql.Tx) error{
				"CreateTx": func(ctx context.Context, jobs *onejob.Jobs, tx *sql.Tx) error {
					_, _, err := jobs.CreateTx(ctx, tx, intent("created"))
					return err
				},
				"CompleteTx": func(ctx context.Context, jobs *onejob.Jobs, tx *sql.Tx) error {
					_, err := jobs.CompleteTx(ctx, tx, a, []byte("result"))
					return err
				},
			} {
				ctx, cancel := context.WithCancel(h.ctx)
				jobs := h.over(&silentCommit{h.store, h.store.(onejob.TxStore), cancel})
				err := jobs.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return step(ctx, jobs, tx) })
				require.NoError(h, err, name)
				require.ErrorIs(h, ctx.Err(), context.Canceled)
			}
			require.Equal(h, onejob.StatusPending, h.holder(intent("created")).Status())
			require.Equal(h, onejob.StatusCompleted, h.holder(intent("completed")).Status())

			// What is not the library's cannot be looked up.
			jobs := h.over(&silentCommit{h.store, h.store.(onejob.TxStore), func() {}})
			err := jobs.Tx(h.ctx, func(context.Context, *sql.Tx) error { return nil })
			require.ErrorIs(h, err, onejob.ErrUnavailable)
		},
	},
)

// leaving is a store whose caller's context ends as the answer is lost.
type leaving struct {
	onejob.Store
	leave func()
}

func (s *leaving) Create(ctx context.Context, p onejob.CreateParams) (onejob.Record, error) {
	_, _ = s.Store.Create(ctx, p)
	s.leave()
	return onejob.Record{}, io.ErrUnexpectedEOF
}

func (s *leaving) Start(ctx context.Context, p onejob.CreateParams, try onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Start(ctx, p, try)
	s.leave()
	return onejob.Record{}, false, io.ErrUnexpectedEOF
}

func (s *leaving) Begin(ctx context.Context, p onejob.BeginParams) (onejob.Record, bool, error) {
	_, _, _ = s.Store.Begin(ctx, p)
	s.leave()
	return onejob.Record{}, false, io.ErrUnexpectedEOF
}

// silentCommit is a store whose COMMIT is applied and gives no answer.
type silentCommit struct {
	onejob.Store
	onejob.TxStore
	leave func()
}

func (s *silentCommit) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := s.TxStore.Tx(ctx, fn); err != nil {
		return err
	}
	s.leave()
	return io.ErrUnexpectedEOF
}
