package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// need is the requirement of the cases.
var need = onejob.Requirement{Contract: "summary/3", Model: "large-2", Fingerprint: "f1"}

// tryQualified is a try that needs the qualification.
func tryQualified(provider string) onejob.Try {
	t := try(provider)
	t.Require = &need
	return t
}

// withoutGate is a store that lacks the ability.
type withoutGate struct{ onejob.Store }

// ways are those into each reason.
var ways = map[string]func(h *harness, provider string){
	"missing": func(h *harness, provider string) {
		h.save("another", need, 3, 3, time.Hour)
		other := need
		other.Model = "small"
		h.save(provider, other, 3, 3, time.Hour)
		other = need
		other.Contract = "summary/2"
		h.save(provider, other, 3, 3, time.Hour)
	},
	"failed":  func(h *harness, provider string) { h.save(provider, need, 30, 29, time.Hour) },
	"expired": func(h *harness, provider string) { h.lapsed(h.save(provider, need, 3, 3, time.Microsecond)) },
	"changed": func(h *harness, provider string) {
		other := need
		other.Fingerprint = "f2"
		h.save(provider, other, 3, 3, time.Hour)
	},
	"revoked": func(h *harness, provider string) {
		h.save(provider, need, 3, 3, time.Hour)
		_, err := h.op.RevokeQualification(h.ctx, provider, need, someone)
		require.NoError(h, err)
	},
}

var _ = register("gate", []testCase{
	{
		name: "a store without the ability refuses",
		why:  "a store that keeps no qualifications must not let an unproven provider through, so it writes nothing and calls nobody",
		run: func(h *harness) {
			h.store = withoutGate{h.store}
			h.use(onejob.Options{})
			job := h.create("k")
			_, err := h.jobs.BeginAttempt(h.ctx, job, tryQualified("second"))
			require.ErrorIs(h, err, onejob.ErrUnsupported)
			require.Empty(h, h.attempts(job))
			_, _, err = h.jobs.Start(h.ctx, intent("new"), tryQualified("second"))
			require.ErrorIs(h, err, onejob.ErrUnsupported)
			_, err = h.jobs.Do(h.ctx, intent("new"), tryQualified("second"), h.mustNotCall())
			require.ErrorIs(h, err, onejob.ErrUnsupported)
			_, err = h.jobs.GetByKey(h.ctx, "owner-1", "new")
			require.ErrorIs(h, err, onejob.ErrNotFound)
			for _, err := range h.op.Qualifications(h.ctx) {
				require.ErrorIs(h, err, onejob.ErrUnsupported)
			}
		},
	},
	{
		name:  "each reason is told",
		why:   "whoever has not proven it is refused with the reason, by BeginAttempt, Start and Do alike: nothing begins and nobody is called",
		needs: []ability{qualifying},
		run: func(h *harness) {
			for reason, way := range ways {
				provider := "provider " + reason
				way(h, provider)
				job := h.create("k " + reason)
				_, err := h.jobs.BeginAttempt(h.ctx, job, tryQualified(provider))
				refusal := h.refusal(err, onejob.ErrNotQualified)
				require.Equal(h, reason, refusal.Reason)
				require.Equal(h, job, refusal.Job)
				require.Nil(h, refusal.Attempt)
				require.ErrorContains(h, err, reason)
				require.NotContains(h, err.Error(), need.Model)

				got, _, err := h.jobs.Start(h.ctx, job.Intent, tryQualified(provider))
				require.Equal(h, reason, h.refusal(err, onejob.ErrNotQualified).Reason)
				require.Equal(h, job, got)

				fresh, a, err := h.jobs.Start(h.ctx, intent("new "+reason), tryQualified(provider))
				require.Equal(h, reason, h.refusal(err, onejob.ErrNotQualified).Reason)
				require.Equal(h, onejob.Attempt{}, a)
				require.Equal(h, h.holder(intent("new "+reason)), fresh, "the job is stored: the user wants it all the same")

				done, err := h.jobs.Do(h.ctx, intent("do "+reason), tryQualified(provider), h.mustNotCall())
				require.Equal(h, reason, h.refusal(err, onejob.ErrNotQualified).Reason)
				for _, j := range []onejob.Job{job, fresh, done} {
					require.Equal(h, onejob.StatusPending, j.Status())
					require.Empty(h, h.attempts(j))
				}
			}
		},
	},
	{
		name:  "who has proven it begins",
		why:   "a current qualification of all its runs opens the gate for BeginAttempt and Start, and a try that asks for none needs none",
		needs: []ability{qualifying},
		run: func(h *harness) {
			h.save("second", need, 30, 30, time.Hour)
			job := h.create("k")
			a, err := h.jobs.BeginAttempt(h.ctx, job, tryQualified("second"))
			require.NoError(h, err)
			require.Equal(h, []onejob.Attempt{a}, h.attempts(job))
			started, b, err := h.jobs.Start(h.ctx, intent("new"), tryQualified("second"))
			require.NoError(h, err)
			require.Equal(h, started, h.holder(intent("new")))
			require.Equal(h, []onejob.Attempt{b}, h.attempts(started))
			require.Equal(h, started.CreatedAt, b.StartedAt)
			h.begin(h.create("unproven"), "third")
			h.complete(a, "done")
			h.complete(b, "done")
		},
	},
	{
		name:  "another refusal comes first",
		why:   "who has begun, who has won and who has canceled is told before the qualification, and a repeat finds the attempt that began while there was one",
		needs: []ability{qualifying},
		run: func(h *harness) {
			job, a := h.start("running")
			_, err := h.jobs.BeginAttempt(h.ctx, job, tryQualified("unproven"))
			require.Equal(h, a.ID, h.refusal(err, onejob.ErrAttemptOpen).Attempt.ID)
			h.complete(a, "done")
			_, err = h.jobs.BeginAttempt(h.ctx, job, tryQualified("unproven"))
			h.refusal(err, onejob.ErrCompleted)
			gone := h.create("canceled")
			_, err = h.op.CancelJob(h.ctx, gone.ID, someone)
			require.NoError(h, err)
			_, err = h.jobs.BeginAttempt(h.ctx, gone, tryQualified("unproven"))
			h.refusal(err, onejob.ErrJobCanceled)
			none := job
			none.Owner = "another"
			_, err = h.jobs.BeginAttempt(h.ctx, none, tryQualified("unproven"))
			require.ErrorIs(h, err, onejob.ErrNotFound)
			_, _, err = h.jobs.Start(h.ctx, otherInput("running"), tryQualified("unproven"))
			h.refusal(err, onejob.ErrKeyConflict)

			h.save("second", need, 3, 3, time.Hour)
			open := h.create("repeated")
			b, err := h.jobs.BeginAttempt(h.ctx, open, tryQualified("second"))
			require.NoError(h, err)
			_, err = h.op.RevokeQualification(h.ctx, "second", need, someone)
			require.NoError(h, err)
			again := tryQualified("second")
			again.ID = b.ID
			repeated, err := h.jobs.BeginAttempt(h.ctx, open, again)
			require.NoError(h, err, "it has begun already")
			require.Equal(h, b, repeated)
		},
	},
	{
		name:  "the newest run counts, and a revocation stands",
		why:   "a failed run closes the gate that an earlier one opened, a later one opens it again; what an operator has taken back is not lifted by a run",
		needs: []ability{qualifying},
		run: func(h *harness) {
			opens := func(want string) {
				h.Helper()
				_, a, err := h.jobs.Start(h.ctx, intent(fmt.Sprint("k", h.serial())), tryQualified("second"))
				if want == "" {
					require.NoError(h, err)
					h.complete(a, "done")
					return
				}
				require.Equal(h, want, h.refusal(err, onejob.ErrNotQualified).Reason)
			}
			opens("missing")
			first := h.save("second", need, 30, 30, time.Hour)
			opens("")
			h.save("second", need, 30, 29, time.Hour)
			opens("failed")
			h.save("second", need, 10, 10, time.Hour)
			opens("")
			revoked, err := h.op.RevokeQualification(h.ctx, "second", need, someone)
			require.NoError(h, err)
			require.Equal(h, someone, revoked.Decision)
			require.False(h, revoked.RevokedAt.Before(first.QualifiedAt))
			opens("revoked")
			again, err := h.op.RevokeQualification(h.ctx, "second", need, onejob.Decision{By: "bob", Reason: "me too"})
			require.NoError(h, err)
			require.Equal(h, revoked, again, "the first name and reason stand")
			saved := h.save("second", need, 60, 60, time.Hour)
			require.Equal(h, revoked.RevokedAt, saved.RevokedAt)
			require.Equal(h, 60, saved.Runs)
			opens("revoked")
			_, err = h.op.RevokeQualification(h.ctx, "nobody", need, someone)
			require.ErrorIs(h, err, onejob.ErrNotFound)
		},
	},
	{
		name:  "what was saved is listed",
		why:   "each with its evidence byte for byte, in order, over any number of pages",
		needs: []ability{qualifying},
		run: func(h *harness) {
			var want []onejob.Qualification
			for i := range 205 {
				r := need
				r.Fingerprint = fmt.Sprintf("f%03d", i%103)
				q := h.save(fmt.Sprintf("provider-%d", i/103), r, i+1, i/2, time.Duration(i+1)*time.Minute)
				require.Equal(h, time.Duration(i+1)*time.Minute, q.ExpiresAt.Sub(q.QualifiedAt))
				want = append(want, q)
			}
			var got []onejob.Qualification
			for q, err := range h.op.Qualifications(h.ctx) {
				require.NoError(h, err)
				got = append(got, q)
			}
			require.Equal(h, want, got)
			for range h.op.Qualifications(h.ctx) {
				break // the walk may be left
			}
		},
	},
	{
		name:  "after a revocation nothing begins",
		why:   "an attempt that waits for the job while the qualification is revoked must see that: a revocation that has returned is never missed",
		needs: []ability{qualifying},
		run: func(h *harness) {
			for round := range 25 {
				r := need
				r.Fingerprint = fmt.Sprint("f", round)
				h.save("second", r, 3, 3, time.Hour)
				t := try("second")
				t.Require = &r
				var revoked atomic.Bool
				var wrong atomic.Int64
				together(9, func(i int) {
					if i == 0 {
						_, err := h.op.RevokeQualification(h.ctx, "second", r, someone)
						require.NoError(h, err)
						revoked.Store(true)
						return
					}
					for n := range 6 {
						after := revoked.Load()
						_, _, err := h.jobs.Start(h.ctx, intent(fmt.Sprint(round, "-", i, "-", n)), t)
						if after && err == nil {
							wrong.Add(1)
						}
					}
				})
				require.Zero(h, wrong.Load(), "attempts began after the revocation had returned")
			}
		},
	},
	{
		name:  "a revocation that is under way is waited for",
		why:   "whoever begins while a revocation has not returned may begin; on one job, with callers who wait for each other, none begins after it",
		needs: []ability{qualifying, operating},
		run: func(h *harness) {
			h.save("second", need, 3, 3, time.Hour)
			job := h.create("k")
			var mu sync.Mutex
			var began []onejob.Attempt
			var q onejob.Qualification
			together(9, func(i int) {
				if i == 0 {
					var err error
					q, err = h.op.RevokeQualification(h.ctx, "second", need, someone)
					require.NoError(h, err)
					return
				}
				for range 5 {
					a, err := h.jobs.BeginAttempt(h.ctx, job, tryQualified("second"))
					if err != nil {
						continue
					}
					mu.Lock()
					began = append(began, a)
					mu.Unlock()
					_, err = h.op.Refute(context.WithoutCancel(h.ctx), a.ID, someone)
					require.NoError(h, err)
				}
			})
			for _, a := range began {
				require.False(h, a.StartedAt.After(q.RevokedAt), "an attempt began after the revocation")
			}
		},
	},
	{
		name:  "bad input is refused",
		why:   "before anything is sent, with one typed error that names the field",
		needs: []ability{qualifying},
		run: func(h *harness) {
			job := h.create("k")
			for field, spoil := range map[string]func(r *onejob.Requirement){
				"Contract":    func(r *onejob.Requirement) { r.Contract = strings.Repeat("x", 256) },
				"Model":       func(r *onejob.Requirement) { r.Model = "" },
				"Fingerprint": func(r *onejob.Requirement) { r.Fingerprint = "a\x00b" },
			} {
				r := need
				spoil(&r)
				t := try("second")
				t.Require = &r
				_, err := h.jobs.BeginAttempt(h.ctx, job, t)
				require.Equal(h, "Try.Require."+field, h.refusal(err, onejob.ErrInvalid).Field)
				_, err = h.op.SaveQualification(h.ctx, onejob.Qualification{Provider: "second", Requirement: r, Runs: 1}, time.Hour)
				require.Equal(h, "Qualification."+field, h.refusal(err, onejob.ErrInvalid).Field)
				_, err = h.op.RevokeQualification(h.ctx, "second", r, someone)
				require.Equal(h, "Requirement."+field, h.refusal(err, onejob.ErrInvalid).Field)
			}
			for field, q := range map[string]onejob.Qualification{
				"Qualification.Provider": {Requirement: need, Runs: 1},
				"Qualification.Runs":     {Provider: "second", Requirement: need},
				"Qualification.Passes":   {Provider: "second", Requirement: need, Runs: 1, Passes: 2},
				"Qualification.Evidence": {Provider: "second", Requirement: need, Runs: 1, Evidence: make([]byte, 1<<20+1)},
			} {
				_, err := h.op.SaveQualification(h.ctx, q, time.Hour)
				require.Equal(h, field, h.refusal(err, onejob.ErrInvalid).Field)
			}
			_, err := h.op.SaveQualification(h.ctx, onejob.Qualification{Provider: "second", Requirement: need, Runs: 1}, 0)
			require.Equal(h, "ttl", h.refusal(err, onejob.ErrInvalid).Field)
			_, err = h.op.RevokeQualification(h.ctx, "second", need, onejob.Decision{By: "ada"})
			h.refusal(err, onejob.ErrInvalid)
			for range h.op.Qualifications(h.ctx) {
				require.Fail(h, "something was stored")
			}
		},
	},
}...)

// save stores a qualification.
func (h *harness) save(provider string, r onejob.Requirement, runs, passes int, ttl time.Duration) onejob.Qualification {
	h.Helper()
	in := onejob.Qualification{Provider: provider, Requirement: r, Runs: runs, Passes: passes, Evidence: []byte("\x00\xff report of " + provider)}
	q, err := h.op.SaveQualification(h.ctx, in, ttl)
	require.NoError(h, err)
	in.QualifiedAt, in.ExpiresAt, in.RevokedAt, in.Decision = q.QualifiedAt, q.ExpiresAt, q.RevokedAt, q.Decision
	require.Equal(h, in, q)
	return q
}

// lapsed waits until the store's clock is past the end of q.
func (h *harness) lapsed(q onejob.Qualification) {
	h.Helper()
	for !h.create(fmt.Sprint("later ", h.serial())).CreatedAt.After(q.ExpiresAt) {
	}
}

var serials atomic.Int64

// serial is a number that no one else gets.
func (h *harness) serial() int64 { return serials.Add(1) }
