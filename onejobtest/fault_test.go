package onejobtest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

// faulty is an operation that writes, on a job with a started attempt. Do is
// not among them: it is Start, then Complete or Fail.
type faulty struct {
	name string
	// arrange makes what the operation needs beyond that.
	arrange func(t *testing.T, s *scene)
	// run does it once; a repeat of an attempt's beginning is told which.
	run func(s *scene, repeat onejob.AttemptID) error
	// unheard: nothing of the library's can be read back, so a cut is not healed.
	unheard bool
}

// scene is what the operations work on.
type scene struct {
	*onejobtest.Env
	ctx context.Context
	job onejob.Job
	a   onejob.Attempt
	// began is the attempt that the operation says it began.
	began onejob.AttemptID
}

func (s *scene) fallback(repeat onejob.AttemptID) onejob.Try {
	return onejob.Try{ID: repeat, Provider: "fallback", Timeout: time.Minute}
}

func errOf[T any](_ T, err error) error { return err }

var errSilence = errors.New("silence")

func free(t *testing.T, s *scene) {
	require.NoError(t, errOf(s.Jobs.Fail(s.ctx, s.a, onejob.NoEffect(errSilence))))
}

func overdue(t *testing.T, s *scene) {
	s.Advance(9 * time.Second)
	require.NoError(t, errOf(s.Jobs.MarkUnknown(s.ctx, s.a, errSilence)))
}

func completed(t *testing.T, s *scene) {
	require.NoError(t, errOf(s.Jobs.Complete(s.ctx, s.a, []byte("result"))))
	s.Advance(time.Hour)
}

var faults = []faulty{
	{name: "Create", run: func(s *scene, _ onejob.AttemptID) error {
		_, _, err := s.Jobs.Create(s.ctx, intent("another"))
		return err
	}},
	{name: "Start", run: func(s *scene, id onejob.AttemptID) error {
		_, a, err := s.Jobs.Start(s.ctx, intent("another"), s.fallback(id))
		s.began = a.ID
		return err
	}},
	{name: "Start on a job that exists", arrange: free, run: func(s *scene, id onejob.AttemptID) error {
		_, a, err := s.Jobs.Start(s.ctx, intent("k"), s.fallback(id))
		s.began = a.ID
		return err
	}},
	{name: "BeginAttempt", arrange: free, run: func(s *scene, id onejob.AttemptID) error {
		a, err := s.Jobs.BeginAttempt(s.ctx, s.job, s.fallback(id))
		s.began = a.ID
		return err
	}},
	{name: "Complete", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Jobs.Complete(s.ctx, s.a, []byte("result")))
	}},
	{name: "Complete that loses", run: func(s *scene, _ onejob.AttemptID) error {
		err := errOf(s.Jobs.Complete(s.ctx, s.a, []byte("result")))
		if errors.Is(err, onejob.ErrLateResult) {
			return nil
		}
		return err
	}, arrange: func(t *testing.T, s *scene) {
		require.NoError(t, errOf(s.Operator.CancelAttempt(s.ctx, s.a.ID, ada)))
	}},
	{name: "Fail", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Jobs.Fail(s.ctx, s.a, onejob.NoEffect(errSilence)))
	}},
	{name: "MarkUnknown", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Jobs.MarkUnknown(s.ctx, s.a, errSilence))
	}},
	{name: "Extend", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Jobs.Extend(s.ctx, s.a, time.Hour))
	}},
	{name: "SetExternalRef", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Jobs.SetExternalRef(s.ctx, s.a, "ref"))
	}},
	{name: "Tx with CreateTx", run: func(s *scene, _ onejob.AttemptID) error {
		return s.Jobs.Tx(s.ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, _, err := s.Jobs.CreateTx(ctx, tx, intent("another"))
			return err
		})
	}},
	{name: "Tx with CompleteTx", run: func(s *scene, _ onejob.AttemptID) error {
		return s.Jobs.Tx(s.ctx, func(ctx context.Context, tx *sql.Tx) error {
			return errOf(s.Jobs.CompleteTx(ctx, tx, s.a, []byte("result")))
		})
	}},
	{name: "Tx with the host's rows alone", unheard: true, run: func(s *scene, _ onejob.AttemptID) error {
		return s.Jobs.Tx(s.ctx, func(ctx context.Context, tx *sql.Tx) error {
			return errOf(tx.ExecContext(ctx, `INSERT INTO host VALUES (1) ON CONFLICT DO NOTHING`))
		})
	}},
	{name: "Confirm", arrange: overdue, run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.Confirm(s.ctx, s.a.ID, []byte("result"), ada))
	}},
	{name: "Refute", arrange: overdue, run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.Refute(s.ctx, s.a.ID, ada))
	}},
	{name: "CancelAttempt", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.CancelAttempt(s.ctx, s.a.ID, ada))
	}},
	{name: "DetachAttempt", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.DetachAttempt(s.ctx, s.a.ID, ada))
	}},
	{name: "CancelJob", run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.CancelJob(s.ctx, s.job.ID, ada))
	}},
	{name: "Reconcile", arrange: overdue, run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.Reconcile(s.ctx, onejob.Filter{}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
			return []byte("result"), nil
		}))
	}},
	{name: "Sweep", unheard: true, run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.Sweep(s.ctx, 9))
	}, arrange: func(t *testing.T, s *scene) {
		// Advance has swept what was there: this one is overdue from its beginning.
		_, err := s.DB.Exec(`UPDATE onejob_attempts SET deadline = started_at`)
		require.NoError(t, err)
	}},
	{name: "Purge", unheard: true, arrange: completed, run: func(s *scene, _ onejob.AttemptID) error {
		return errOf(s.Operator.Purge(s.ctx, onejob.Retention{Payloads: time.Minute}, 9))
	}},
}

func setScene(t *testing.T, op faulty) *scene {
	env := onejobtest.New(t, nil)
	_, err := env.DB.Exec(`CREATE TABLE host (n INTEGER PRIMARY KEY)`)
	require.NoError(t, err)
	s := &scene{Env: env, ctx: t.Context()}
	s.job, s.a = start(t, env, "k")
	if op.arrange != nil {
		op.arrange(t, s)
	}
	return s
}

// rows is the whole database but for what is random.
func rows(t *testing.T, env *onejobtest.Env) string {
	t.Helper()
	var all string
	require.NoError(t, env.DB.QueryRow(`SELECT
		coalesce((SELECT group_concat(concat_ws('|', key, state, version, ended_at - created_at, purged_at IS NULL,
			completed_by IS NULL, result, by, reason), char(10) ORDER BY key) FROM onejob_jobs), '') || char(10) ||
		coalesce((SELECT group_concat(concat_ws('|', number, provider, state, deadline - started_at, ended_at - started_at,
			external_ref, cause, by, late_size), char(10) ORDER BY started_at, provider, number) FROM onejob_attempts), '') || char(10) ||
		(SELECT count(*) FROM host)`).Scan(&all))
	return all
}

// outcomes are what an operation leaves where nothing fails, and what was
// there before.
func outcomes(t *testing.T, op faulty) (before, after string) {
	t.Helper()
	s := setScene(t, op)
	before = rows(t, s.Env)
	require.NoError(t, op.run(s, ""))
	after = rows(t, s.Env)
	require.NotEqual(t, before, after, "the operation writes nothing")
	return before, after
}

func TestEachOperationUnderEachFault(t *testing.T) {
	t.Parallel()
	for _, op := range faults {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			before, after := outcomes(t, op)
			t.Run("a cut reply is healed by reading back", func(t *testing.T) {
				s := setScene(t, op)
				s.CutReply()
				err := op.run(s, "")
				if op.unheard {
					require.ErrorIs(t, err, onejob.ErrUnavailable)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, after, rows(t, s.Env))
				require.NoError(t, op.run(s, s.repeat(err)))
				require.Equal(t, after, rows(t, s.Env), "the repeat did it again")
			})
			t.Run("after a cut and an outage a repeat is definite", func(t *testing.T) {
				s := setScene(t, op)
				s.CutReplyThenDown()
				err := op.run(s, "")
				require.ErrorIs(t, err, onejob.ErrUnavailable)
				require.Equal(t, after, rows(t, s.Env), "it was applied")
				require.ErrorIs(t, op.run(s, s.repeat(err)), onejob.ErrUnavailable, "the outage goes on")
				s.Up()
				require.NoError(t, op.run(s, s.repeat(err)))
				require.Equal(t, after, rows(t, s.Env), "the repeat did it again")
			})
			t.Run("after an outage a repeat is the first", func(t *testing.T) {
				s := setScene(t, op)
				s.Down()
				err := op.run(s, "")
				require.ErrorIs(t, err, onejob.ErrUnavailable)
				require.Equal(t, before, rows(t, s.Env), "it was applied")
				s.Up()
				require.NoError(t, op.run(s, s.repeat(err)))
				require.Equal(t, after, rows(t, s.Env))
			})
		})
	}
}

// repeat is the attempt to name in a repeat: the one that began, or the one of
// which that is not known.
func (s *scene) repeat(err error) onejob.AttemptID {
	if e, ok := errors.AsType[*onejob.Error](err); ok && e.Attempt != nil && e.Attempt.Provider == "fallback" {
		return e.Attempt.ID
	}
	return s.began
}

func TestACutReplyDoesNotHideWhoCreatedAJob(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	env.CutReply()
	_, created, err := env.Jobs.Create(t.Context(), intent("k"))
	require.NoError(t, err)
	require.True(t, created, "this call's job looks like another's")
}

// The provider must not be called again by whoever repeats.
func TestDoInAnOutageEndsInDoubt(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	calls := 0
	call := func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		calls++
		env.CutReplyThenDown()
		return []byte("result"), nil
	}
	short := onejob.Try{Provider: "primary", Timeout: time.Millisecond}
	_, err := env.Jobs.Do(t.Context(), intent("k"), short, call)
	require.ErrorIs(t, err, onejob.ErrInDoubt)
	env.Up()
	job, err := env.Jobs.Do(t.Context(), intent("k"), short, call)
	require.NoError(t, err)
	require.Equal(t, "result", string(job.Result))
	require.Equal(t, 1, calls)
}

// What was begun by a call that nobody heard of may have been acted on since.
func TestDoThatNamesItsAttemptIsInDoubtAfterACut(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	_, a := start(t, env, "k")
	_, err := env.Jobs.Fail(t.Context(), a, onejob.NoEffect(errSilence))
	require.NoError(t, err)
	named := onejob.Try{ID: onejob.AttemptID(a.JobID) + "-0123456789abcdef", Provider: "primary", Timeout: time.Minute}
	env.CutReply()
	_, err = env.Jobs.Do(t.Context(), intent("k"), named, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
		t.Error("the provider was called")
		return nil, errSilence
	})
	require.ErrorIs(t, err, onejob.ErrInDoubt)
}

func TestATransactionInAnOutageIsRolledBack(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	err := env.Jobs.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, _, err := env.Jobs.CreateTx(ctx, tx, intent("k"))
		env.Down()
		return err
	})
	require.ErrorIs(t, err, onejob.ErrUnavailable)
	env.Up()
	_, err = env.Jobs.GetByKey(t.Context(), "user-7", "k")
	require.ErrorIs(t, err, onejob.ErrNotFound)
}
