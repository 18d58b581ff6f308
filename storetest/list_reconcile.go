package storetest

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("reconcile",
	testCase{
		name:  "does what the provider knows",
		why:   "knowledge ends a doubt: a result completes the job, proof of no effect frees it, anything else leaves it blocked and counted",
		needs: []ability{operating},
		run: func(h *harness) {
			acted, _ := h.inState("acted", onejob.StateUnknown)
			idle, failed := h.inState("idle", onejob.StateUnknown)
			silent, _ := h.inState("silent", onejob.StateUnknown)
			overdue := h.pastDue("overdue")
			started, _ := h.start("started")
			var asked []string
			left, err := h.op.Reconcile(h.ctx, onejob.Filter{}, func(ctx context.Context, job onejob.Job, a onejob.Attempt) ([]byte, error) {
				asked = append(asked, job.Key)
				require.Equal(h, intent("").Params, job.Params)
				require.Equal(h, onejob.StateUnknown, a.State)
				require.NotEmpty(h, a.ProviderKey)
				switch job.Key {
				case "acted":
					return []byte("result"), nil
				case "idle":
					return nil, onejob.NoEffect(errors.New("no such charge"))
				}
				return nil, errNoAnswer
			})
			require.NoError(h, err)
			require.Equal(h, 2, left)
			require.Equal(h, []string{"acted", "idle", "silent", "overdue"}, asked)
			for id, want := range map[onejob.JobID]onejob.Status{
				acted.ID: onejob.StatusCompleted, idle.ID: onejob.StatusPending, silent.ID: onejob.StatusUnknown,
				overdue.JobID: onejob.StatusUnknown, started.ID: onejob.StatusRunning,
			} {
				job, err := h.jobs.Get(h.ctx, "owner-1", id)
				require.NoError(h, err)
				require.Equal(h, want, job.Status(), job.Key)
			}
			_, failed, err = h.jobs.GetAttempt(h.ctx, failed.ID)
			require.NoError(h, err)
			require.Equal(h, onejob.StateFailed, failed.State)
			require.Equal(h, "no such charge", failed.Cause)
		},
	},
	testCase{
		name:  "asks about what the filter selects",
		why:   "an attempt that was started a moment ago may not have reached its provider: no answer about it is knowledge",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached} {
				h.inState(string(state), state)
			}
			in := intent("other")
			in.Owner = "owner-2"
			_, a, err := h.jobs.Start(h.ctx, in, try("fallback"))
			require.NoError(h, err)
			_, err = h.jobs.MarkUnknown(h.ctx, a, errNoAnswer)
			require.NoError(h, err)

			for _, c := range []struct {
				f    onejob.Filter
				want []string
				left int
			}{
				{onejob.Filter{}, []string{"unknown", "other"}, 2},
				{onejob.Filter{Owner: "owner-2"}, []string{"other"}, 1},
				{onejob.Filter{Provider: "primary"}, []string{"unknown"}, 1},
				{onejob.Filter{Before: a.StartedAt}, []string{"unknown"}, 1},
				{onejob.Filter{States: []onejob.State{onejob.StateDetached}}, []string{"detached"}, 0},
				{onejob.Filter{States: []onejob.State{onejob.StateDetached, onejob.StateUnknown}}, []string{"unknown", "detached", "other"}, 2},
			} {
				var asked []string
				left, err := h.op.Reconcile(h.ctx, c.f, func(_ context.Context, job onejob.Job, _ onejob.Attempt) ([]byte, error) {
					asked = append(asked, job.Key)
					return nil, errNoAnswer
				})
				require.NoError(h, err)
				require.Equal(h, c.want, asked)
				require.Equal(h, c.left, left)
			}
			for _, f := range []onejob.Filter{
				{States: []onejob.State{onejob.StateStarted}},
				{States: []onejob.State{onejob.StateUnknown, onejob.StateStarted}},
				{States: []onejob.State{onejob.StateFailed}},
				{Late: true},
			} {
				_, err := h.op.Reconcile(h.ctx, f, h.found)
				require.Equal(h, "Filter.States", h.refusal(err, onejob.ErrInvalid).Field)
			}
			_, err = h.op.Reconcile(h.ctx, onejob.Filter{}, nil)
			require.Equal(h, "ask", h.refusal(err, onejob.ErrInvalid).Field)
		},
	},
	testCase{
		name:  "a detached attempt that acted wins",
		why:   "a detached attempt may still win, and its successor then learns that it is late",
		needs: []ability{operating},
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			next := h.begin(job, "fallback")
			_, err := h.op.Reconcile(h.ctx, onejob.Filter{States: []onejob.State{onejob.StateDetached}}, h.found)
			require.NoError(h, err)
			h.wonBy(a, "result")
			_, err = h.jobs.Complete(h.ctx, next, []byte("the loser's"))
			require.ErrorIs(h, err, onejob.ErrLateResult)
		},
	},
	testCase{
		name:  "goes on where OnComplete refuses",
		why:   "one job whose host rows cannot be written must not keep the doubts of all others, and it stays in doubt itself",
		needs: []ability{operating, transactions},
		run: func(h *harness) {
			h.use(onejob.Options{OnComplete: func(_ context.Context, _ *sql.Tx, job onejob.Job) error {
				if job.Key == "first" {
					return errHost
				}
				return nil
			}})
			_, first := h.inState("first", onejob.StateUnknown)
			_, second := h.inState("second", onejob.StateUnknown)
			left, err := h.op.Reconcile(h.ctx, onejob.Filter{}, h.found)
			require.ErrorIs(h, err, errHost)
			var e *onejob.Error
			require.ErrorAs(h, err, &e)
			require.Equal(h, "Reconcile", e.Op)
			require.Equal(h, first.ID, e.Attempt.ID)
			require.Equal(h, 1, left)
			_, now, err := h.jobs.GetAttempt(h.ctx, first.ID)
			require.NoError(h, err)
			require.Equal(h, onejob.StateUnknown, now.State)
			h.wonBy(second, "result")
		},
	},
	testCase{
		name:  "goes on where a result is over the limit",
		why:   "an answer that cannot be stored must not keep the doubts of all others",
		needs: []ability{operating},
		run: func(h *harness) {
			h.use(onejob.Options{MaxResult: 10})
			_, first := h.inState("first", onejob.StateUnknown)
			_, second := h.inState("second", onejob.StateUnknown)
			left, err := h.op.Reconcile(h.ctx, onejob.Filter{}, func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				if a.ID == first.ID {
					return make([]byte, 11), nil
				}
				return []byte("result"), nil
			})
			require.ErrorIs(h, err, onejob.ErrInvalid)
			require.Equal(h, 1, left)
			h.wonBy(second, "result")
		},
	},
	testCase{
		name:  "a filter that cannot match is refused",
		why:   "bad input is one typed error on every store, before a round trip",
		needs: []ability{operating},
		run: func(h *harness) {
			for field, f := range map[string]onejob.Filter{
				"Filter.Owner":     {Owner: "a\x00b"},
				"Filter.Kind":      {Kind: "\xff"},
				"Filter.Provider":  {Provider: strings.Repeat("p", 64)},
				"Filter.States":    {States: []onejob.State{"started,failed"}},
				"Filter.LateSince": {LateSince: time.Now()},
				"Filter.Before":    {Before: time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC)},
			} {
				for _, err := range h.op.Attempts(h.ctx, f) {
					require.Equal(h, field, h.refusal(err, onejob.ErrInvalid).Field)
				}
			}
		},
	},
	testCase{
		name:  "no result and no error is no knowledge",
		why:   "a look-up that finds nothing must not complete a job with nothing, nor may one that cannot dial fail it",
		needs: []ability{operating},
		run: func(h *harness) {
			_, a := h.inState("k", onejob.StateUnknown)
			for _, answer := range []error{nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}} {
				left, err := h.op.Reconcile(h.ctx, onejob.Filter{}, func(ctx context.Context, _ onejob.Job, _ onejob.Attempt) ([]byte, error) {
					_, bounded := ctx.Deadline()
					require.True(h, bounded, "a look-up must not hang the walk")
					return nil, answer
				})
				require.NoError(h, err)
				require.Equal(h, 1, left)
				_, now, err := h.jobs.GetAttempt(h.ctx, a.ID)
				require.NoError(h, err)
				require.Equal(h, onejob.StateUnknown, now.State)
			}
		},
	},
	testCase{
		name:  "skips what has ended meanwhile",
		why:   "a page may be old when an attempt's turn comes, and its provider need not be asked about what is known",
		needs: []ability{operating},
		run: func(h *harness) {
			_, first := h.inState("first", onejob.StateUnknown)
			_, second := h.inState("second", onejob.StateUnknown)
			_, third := h.inState("third", onejob.StateUnknown)
			n := 0
			left, err := h.op.Reconcile(h.ctx, onejob.Filter{}, func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				n++
				if a.ID == first.ID {
					_, err := h.op.Refute(h.ctx, second.ID, someone)
					require.NoError(h, err)
					return nil, errNoAnswer
				}
				// Ended while its provider is being asked.
				require.Equal(h, third.ID, a.ID)
				h.complete(third, "a webhook's")
				return []byte("result"), nil
			})
			require.NoError(h, err)
			require.Equal(h, 1, left)
			require.Equal(h, 2, n)
			h.wonBy(third, "a webhook's")
		},
	},
	testCase{
		name:  "stops with its context",
		why:   "a walk that is called off decides nothing more, and an answer that was cut short is no knowledge",
		needs: []ability{operating},
		run: func(h *harness) {
			for _, key := range []string{"a", "b", "c"} {
				h.inState(key, onejob.StateUnknown)
			}
			ctx, cancel := context.WithCancelCause(h.ctx)
			n := 0
			_, err := h.op.Reconcile(ctx, onejob.Filter{}, func(context.Context, onejob.Job, onejob.Attempt) ([]byte, error) {
				if n++; n == 2 {
					cancel(errHost)
				}
				return nil, errNoAnswer
			})
			require.Same(h, errHost, err)
			require.Equal(h, 2, n)
			require.Len(h, h.listAll(onejob.Filter{States: []onejob.State{onejob.StateUnknown}}), 3)
		},
	},
)
