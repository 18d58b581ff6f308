package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("operator lists",
	testCase{
		name:  "show by default what has not ended",
		why:   "what an operator has to look at is what may still act or win; overdue attempts count as unknown, swept or not",
		needs: []ability{operating},
		run: func(h *harness) {
			want := map[onejob.AttemptID]onejob.State{}
			for _, state := range allStates {
				_, a := h.inState(string(state), state)
				if state.Open() || state == onejob.StateDetached {
					want[a.ID] = state
				}
			}
			want[h.pastDue("overdue").ID] = onejob.StateUnknown
			got := map[onejob.AttemptID]onejob.State{}
			for _, e := range h.listAll(onejob.Filter{}) {
				got[e.Attempt.ID] = e.Attempt.State
				require.Equal(h, e.Job.ID, e.Attempt.JobID)
			}
			require.Equal(h, want, got)
		},
	},
	testCase{
		name:  "match every field that is set",
		why:   "a decision is made on what the filter shows: one attempt too many may be canceled by mistake",
		needs: []ability{operating},
		run: func(h *harness) {
			attempts := map[string]onejob.Attempt{}
			for _, state := range allStates {
				_, attempts[string(state)] = h.inState(string(state), state)
			}
			in := intent("other")
			in.Owner, in.Kind = "owner-2", "refund"
			_, other, err := h.jobs.Start(h.ctx, in, try("fallback"))
			require.NoError(h, err)
			overdue := h.pastDue("overdue")

			for _, state := range allStates {
				got := h.listed(onejob.Filter{States: []onejob.State{state}})
				require.Contains(h, got, attempts[string(state)].ID, state)
				if state == onejob.StateUnknown {
					require.ElementsMatch(h, []onejob.AttemptID{attempts["unknown"].ID, overdue.ID}, got)
				}
			}
			for _, f := range []onejob.Filter{{Owner: "owner-2"}, {Kind: "refund"}, {Provider: "fallback"}, {
				Owner: "owner-2", Kind: "refund", Provider: "fallback", States: []onejob.State{onejob.StateStarted},
			}} {
				require.Equal(h, []onejob.AttemptID{other.ID}, h.listed(f))
			}
			for _, f := range []onejob.Filter{
				{Owner: "owner-2", Kind: "charge"}, {Owner: "OWNER-2"}, {Kind: "refun"}, {Provider: "fallback "},
				{Owner: "owner-2", States: []onejob.State{onejob.StateUnknown}},
			} {
				require.Empty(h, h.listed(f))
			}
			require.NotContains(h, h.listed(onejob.Filter{Before: other.StartedAt}), other.ID)
			require.Contains(h, h.listed(onejob.Filter{Before: other.StartedAt.Add(time.Microsecond)}), other.ID)
			require.Equal(h, []onejob.AttemptID{attempts["late"].ID}, h.listed(onejob.Filter{Late: true}))
		},
	},
	testCase{
		name:  "show late ones whatever their state",
		why:   "a canceled attempt that came back with a result is an effect that somebody may have to undo",
		needs: []ability{operating},
		run: func(h *harness) {
			_, late := h.inState("late", onejob.StateLate)
			_, canceled := h.inState("canceled", onejob.StateCanceled)
			h.inState("quiet", onejob.StateCanceled)
			_, err := h.jobs.Complete(h.ctx, canceled, []byte("the loser's"))
			require.ErrorIs(h, err, onejob.ErrLateResult)
			require.ElementsMatch(h, []onejob.AttemptID{late.ID, canceled.ID}, h.listed(onejob.Filter{Late: true}))
			require.Equal(h, []onejob.AttemptID{canceled.ID},
				h.listed(onejob.Filter{Late: true, Before: canceled.StartedAt.Add(time.Microsecond), Owner: "owner-1"})[1:])
		},
	},
	testCase{
		name:  "show the late ones since a time",
		why:   "who counts the races of an hour must not read those of a year",
		needs: []ability{operating},
		run: func(h *harness) {
			h.inState("first", onejob.StateLate)
			h.inState("second", onejob.StateLate)
			all := h.listAll(onejob.Filter{Late: true})
			require.Len(h, all, 2)
			first, second := all[0].Attempt, all[1].Attempt
			require.True(h, first.LateAt.Before(second.LateAt))
			since := func(at time.Time) []onejob.AttemptID { return h.listed(onejob.Filter{Late: true, LateSince: at}) }
			require.Equal(h, []onejob.AttemptID{first.ID, second.ID}, since(first.LateAt))
			require.Equal(h, []onejob.AttemptID{second.ID}, since(first.LateAt.Add(time.Microsecond)))
			require.Equal(h, []onejob.AttemptID{second.ID}, since(second.LateAt))
			require.Empty(h, since(second.LateAt.Add(time.Microsecond)))
		},
	},
	testCase{
		name:  "come with the job, without payloads",
		why:   "a page of large params and results would not fit in memory, but what the job waits for must be seen",
		needs: []ability{operating},
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			next := h.begin(job, "fallback")
			done, won := h.inState("done", onejob.StateSucceeded)
			withdrawn, b := h.start("withdrawn")
			withdrawn, err := h.op.CancelJob(h.ctx, withdrawn.ID, someone)
			require.NoError(h, err)
			overdue := h.pastDue("overdue")

			seen := map[onejob.AttemptID]onejob.Entry{}
			for _, e := range h.listAll(onejob.Filter{States: allStates}) {
				require.Nil(h, e.Job.Params)
				require.Nil(h, e.Job.Result)
				seen[e.Attempt.ID] = e
			}
			require.Len(h, seen, 5)
			require.Equal(h, next.ID, seen[a.ID].Job.Attempt.ID)
			require.Equal(h, next.ID, seen[next.ID].Job.Attempt.ID)
			require.Equal(h, onejob.StatusRunning, seen[a.ID].Job.Status())
			require.Equal(h, a, seen[a.ID].Attempt)
			done.Params, done.Result = nil, nil
			require.Equal(h, done, seen[won.ID].Job)
			withdrawn.Params = nil
			require.Equal(h, withdrawn, seen[b.ID].Job)
			require.Equal(h, onejob.StatusUnknown, seen[overdue.ID].Job.Status())
		},
	},
	testCase{
		name:  "go on over many pages, oldest first",
		why:   "the oldest doubt is the most urgent, and nothing between two pages may be lost or shown twice",
		needs: []ability{operating},
		run: func(h *harness) {
			want := h.many(450)
			got := h.listAll(onejob.Filter{})
			require.Len(h, got, len(want))
			require.True(h, slices.IsSortedFunc(got, func(a, b onejob.Entry) int {
				return cmp.Or(a.Attempt.StartedAt.Compare(b.Attempt.StartedAt), cmp.Compare(a.Attempt.ID, b.Attempt.ID))
			}))
			for _, e := range got {
				require.True(h, want[e.Attempt.ID], "listed twice, or unknown: %s", e.Attempt.ID)
				delete(want, e.Attempt.ID)
			}
		},
	},
	testCase{
		name:  "hold nothing open",
		why:   "the loop's body decides about what it sees, and a write must not wait for the list that is being read",
		needs: []ability{operating},
		run: func(h *harness) {
			n := 0
			for range 3 {
				h.many(220)
				for e, err := range h.op.Attempts(h.ctx, onejob.Filter{}) {
					require.NoError(h, err)
					_, err = h.op.Refute(h.ctx, e.Attempt.ID, someone)
					require.NoError(h, err)
					if n++; n%100 == 0 {
						break
					}
				}
			}
			require.Equal(h, 300, n)
			require.Len(h, h.listAll(onejob.Filter{}), 3*220-n)
		},
	},
	testCase{
		name:  "show nothing twice while all of it changes",
		why:   "an attempt that is listed twice is decided twice",
		needs: []ability{operating},
		run: func(h *harness) {
			all := h.many(420)
			ids := make([]onejob.AttemptID, 0, len(all))
			for id := range all {
				ids = append(ids, id)
			}
			var read atomic.Bool
			var twice []onejob.AttemptID
			errs := make([]error, 5)
			together(5, func(i int) {
				if i == 0 {
					defer read.Store(true)
					seen := map[onejob.AttemptID]bool{}
					for e, err := range h.op.Attempts(h.ctx, onejob.Filter{}) {
						if err != nil {
							errs[i] = err
							return
						}
						if seen[e.Attempt.ID] {
							twice = append(twice, e.Attempt.ID)
						}
						seen[e.Attempt.ID] = true
					}
					return
				}
				for j := i - 1; j < len(ids) && !read.Load(); j += 4 {
					var err error
					switch j % 3 {
					case 0:
						_, err = h.op.DetachAttempt(h.ctx, ids[j], someone)
					case 1:
						_, err = h.op.Refute(h.ctx, ids[j], someone)
					default:
						_, _, err = h.jobs.Start(h.ctx, intent(fmt.Sprint("more", j)), try("primary"))
					}
					if err != nil {
						errs[i] = err
						return
					}
				}
			})
			require.NoError(h, errors.Join(errs...))
			require.Empty(h, twice)
		},
	},
	testCase{
		name:  "get any owner's job",
		why:   "an operator works for all owners and has nothing but the ID",
		needs: nil,
		run: func(h *harness) {
			job, a := h.inState("k", onejob.StateDetached)
			next := h.begin(job, "fallback")
			now, list, err := h.op.Get(h.ctx, job.ID)
			require.NoError(h, err)
			owned, err := h.jobs.Get(h.ctx, job.Owner, job.ID)
			require.NoError(h, err)
			require.Equal(h, owned, now)
			require.Len(h, list, 2)
			require.Equal(h, []onejob.AttemptID{a.ID, next.ID}, []onejob.AttemptID{list[0].ID, list[1].ID})
			for _, id := range []onejob.JobID{"", "nonsense", job.ID[:35] + "~", onejob.JobID("00000000-0000-7000-8000-000000000000")} {
				_, _, err = h.op.Get(h.ctx, id)
				require.ErrorIs(h, err, onejob.ErrNotFound)
			}
		},
	},
	testCase{
		name:  "count",
		why:   "an alarm hangs on these numbers: overdue attempts are unknown ones, swept or not",
		needs: []ability{operating},
		run: func(h *harness) {
			stats, err := h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.Zero(h, stats)
			h.inState("purged", onejob.StateSucceeded)
			h.purge(1)
			_, unknown := h.inState("unknown", onejob.StateUnknown)
			for i, state := range allStates {
				h.inState(fmt.Sprint("state", i), state)
			}
			h.pastDue("overdue")
			h.create("pending")
			job, _ := h.start("withdrawn")
			_, err = h.op.CancelJob(h.ctx, job.ID, someone)
			require.NoError(h, err)
			stats, err = h.op.Stats(h.ctx)
			require.NoError(h, err)
			require.True(h, unknown.StartedAt.Equal(stats.OldestUnknown))
			stats.OldestUnknown = time.Time{}
			require.Equal(h, onejob.Stats{
				Open: 8, Completed: 3, Canceled: 1, Purged: 1,
				Started: 2, Unknown: 3, Detached: 1, Late: 1,
			}, stats)
		},
	},
)

// listAll returns all that the filter shows.
func (h *harness) listAll(f onejob.Filter) (all []onejob.Entry) {
	h.Helper()
	for e, err := range h.op.Attempts(h.ctx, f) {
		require.NoError(h, err)
		all = append(all, e)
	}
	return all
}

// listed is listAll, of the attempts' IDs.
func (h *harness) listed(f onejob.Filter) (ids []onejob.AttemptID) {
	h.Helper()
	for _, e := range h.listAll(f) {
		ids = append(ids, e.Attempt.ID)
	}
	return ids
}

// many starts n attempts, each at a job of its own.
func (h *harness) many(n int) map[onejob.AttemptID]bool {
	h.Helper()
	ids := make([]onejob.AttemptID, n)
	errs := make([]error, n)
	tag := time.Now().UnixNano()
	together(8, func(g int) {
		for i := g; i < n; i += 8 {
			_, a, err := h.jobs.Start(h.ctx, intent(fmt.Sprint(tag, "-", i)), try("primary"))
			ids[i], errs[i] = a.ID, err
		}
	})
	require.NoError(h, errors.Join(errs...))
	all := map[onejob.AttemptID]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return all
}
