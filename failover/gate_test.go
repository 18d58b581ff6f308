package failover_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

// unprove are the ways in which a target may lack its proof.
var unprove = map[string]func(w *world, target int){
	"missing": func(*world, int) {},
	"failed": func(w *world, i int) {
		w.servers[i].Lie("one-in-ten")
		r, err := w.contract.Qualify(w.Context(), w.targets[i], nil)
		require.NoError(w, err)
		require.False(w, r.Passed())
		_, err = contract.Save(w.Context(), w.op, r)
		require.NoError(w, err)
	},
	"expired": func(w *world, i int) {
		r, err := w.contract.Qualify(w.Context(), w.targets[i], nil)
		require.NoError(w, err)
		r.TTL = time.Since(r.At) + 2*time.Second // however long that took
		_, err = contract.Save(w.Context(), w.op, r)
		require.NoError(w, err)
		time.Sleep(2100 * time.Millisecond)
	},
	"changed": func(w *world, i int) {
		spec := chattest.Spec()
		spec.Revision = "0"
		c, err := contract.New(spec)
		require.NoError(w, err)
		saveUnder(w, c, i)
	},
	"revoked": func(w *world, i int) {
		w.qualify(i)
		_, err := w.op.RevokeQualification(w.Context(), names[i], w.contract.Requirement(w.targets[i].Route()), word)
		require.NoError(w, err)
	},
}

func saveUnder(w *world, c *contract.Contract, i int) {
	r, err := c.Qualify(w.Context(), w.targets[i], nil)
	require.NoError(w, err)
	require.True(w, r.Passed())
	_, err = contract.Save(w.Context(), w.op, r)
	require.NoError(w, err)
}

func TestNoRequestGoesToATargetWithoutProof(t *testing.T) {
	t.Parallel()
	for reason, spoil := range unprove {
		for _, target := range []int{1, 2} {
			t.Run(reason+" "+names[target], func(t *testing.T) {
				t.Parallel()
				onBoth(t, 3, func(w *world) {
					for i := 1; i < target; i++ {
						w.qualify(i)
					}
					spoil(w, target)
					for i, s := range w.servers {
						s.Forget()
						if i < target {
							s.Refuse(http.StatusTooManyRequests)
						}
					}
					r := w.runner()
					for range 3 {
						_, err := r.Run(w.Context(), intent("k"))
						require.ErrorIs(w, err, onejob.ErrNotQualified)
						require.ErrorContains(w, err, names[target])
						var refusal *onejob.Error
						require.ErrorAs(w, err, &refusal)
						require.Equal(w, reason, refusal.Reason)
					}
					want := []int{1, 1, 1}
					for i := target; i < 3; i++ {
						want[i] = 0
					}
					require.Equal(w, want, w.calls())

					// Once it has proven itself the same walk goes on with it.
					if reason == "revoked" {
						return // which stands
					}
					w.servers[target].Lie("")
					w.qualify(target)
					job, err := r.Run(w.Context(), intent("k"))
					w.requireDone(job, err, target)
					want[target] = 1
					require.Equal(w, want, w.calls())
				})
			})
		}
	}
}

func TestTheFirstTargetMayBeAskedForItsProof(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		strict := w.runner(func(c *config) { c.QualifyFirst = true })
		job, err := strict.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		require.NotEmpty(w, job.ID, "the job is stored")
		require.Equal(w, []int{0, 0}, w.calls())
		w.qualify(0)
		job, err = strict.Run(w.Context(), intent("k"))
		w.requireDone(job, err, 0)
	})
}

// Whose attempt was the first is the rows' to say: a runner with its providers
// in another order does not make another one exempt.
func TestTheFirstTargetIsThatOfTheFirstAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, 2, func(w *world) {
		w.servers[0].Refuse(http.StatusTooManyRequests)
		_, err := w.runner().Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		other := w.runner(func(c *config) { c.Providers[0], c.Providers[1] = w.targets[1], w.targets[0] })
		_, err = other.Run(w.Context(), intent("k"))
		require.ErrorIs(w, err, onejob.ErrNotQualified)
		require.Equal(w, []int{1, 0}, w.calls())
	})
}
