package standby

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/figures"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Each round kills the primary under load and promotes its synchronous standby,
// which then gets a standby of its own. Clients go over by their DSN alone.
func TestASynchronousStandbyForgetsNothing(t *testing.T) {
	t.Parallel()
	seed := figures.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := start(t)
	all := newLedger()
	rounds := figures.N(3, 12)
	for round := range rounds {
		if round > 0 {
			p.join(t)
		}
		p.synchronous(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		l := &load{ledger: all, round: round, seed: seed, ctx: ctx, jobs: jobsOn(t, pool(t, p.dsn()))}
		before := all.wins()
		l.begin()
		wins(t, l, before+20+rng.IntN(100))
		time.Sleep(time.Duration(rng.IntN(20_000)) * time.Microsecond)

		p.failOver(t)
		l.up.Store(true)
		wins(t, l, all.wins()+40)
		l.over.Store(true)
		l.done.Wait()
		cancel()

		db := dbtest.OpenPostgres(t, p.primary.DSN("postgres"))
		all.check(t, jobsOn(t, db))
		dbtest.Check(t, db, "onejob.")
		t.Logf("round %d: %d winners kept so far, %d operations were in doubt at first", round, all.wins(), all.repeated)
	}
	figures.Add(t, figures.ServerKills, rounds)
	require.Positive(t, all.repeated, "nothing was under way when the primary died")
}

// wins waits until so many jobs have a winner.
func wins(t *testing.T, l *load, n int) {
	t.Helper()
	for l.wins() < n {
		l.mu.Lock()
		wrong := l.wrong
		l.mu.Unlock()
		require.Empty(t, wrong)
		require.NoError(t, l.ctx.Err(), "only %d of %d", l.wins(), n)
		time.Sleep(time.Millisecond)
	}
}
