package storm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/figures"
	"github.com/onejob-go/onejob/faults/worker"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// onBoth runs a test on each store, with the address that processes open.
func onBoth(t *testing.T, f func(t *testing.T, store onejob.Store, config worker.Config)) {
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.PostgresDSN(t)
		store, err := onejob.NewPostgresStore(dbtest.OpenPostgres(t, dsn), nil)
		require.NoError(t, err)
		f(t, store, worker.Config{Store: "postgres", Address: dsn, Silence: time.Minute})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := dbtest.SQLitePath(t)
		f(t, dbtest.OpenSQLite(t, path), worker.Config{Store: "sqlite", Address: path})
	})
}

// Sixty-four goroutines in four processes click at once. In every second round
// some of them ask for something else with the same key.
func TestOneKeyIsOneJobForAllWhoClickAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, _ onejob.Store, config worker.Config) {
		rng := rand.New(rand.NewPCG(figures.Seed(t), 1))
		tb := newTable(t, 4, 16, config)
		total := figures.N(300, 10_000)
		for n := range total {
			rounds := make([]worker.Round, 4)
			for i := range rounds {
				rounds[i] = worker.Round{Do: "click", Key: fmt.Sprint("KEY-", n)}
				if n%2 == 1 {
					rounds[i].Others = rng.IntN(9)
				}
			}
			checkClicks(t, n, rounds, tb.play(rounds...))
		}
		figures.Add(t, figures.DoubleClick, total)
		figures.Add(t, figures.Operations, 64*total)
	})
}

func checkClicks(t *testing.T, n int, rounds []worker.Round, all []worker.Played) {
	t.Helper()
	others := 0
	usual, other, conflicts := map[string]int{}, map[string]int{}, map[string]int{}
	created, refused := 0, 0
	for i, p := range all {
		require.Empty(t, p.Error, "round %d", n)
		created += p.Created
		maps.Copy(usual, p.Jobs)
		maps.Copy(other, p.OtherJobs)
		for id, times := range p.Conflicts {
			conflicts[id] += times
			refused += times
		}
		others += rounds[i].Others
	}
	// Whoever came first decided which input is the job's.
	job, want := usual, others
	if len(other) > 0 {
		job, want = other, 64-others
		require.Empty(t, usual, "round %d: both inputs were accepted", n)
	}
	require.Len(t, job, 1, "round %d: one key, one job", n)
	require.Equal(t, 1, created, "round %d: one caller made it", n)
	require.Equal(t, want, refused, "round %d: all with other input are refused", n)
	for id := range conflicts {
		require.Contains(t, job, id, "round %d: a refusal names another job", n)
	}
}

// Two attempts run side by side and finish in the wrong order, or at the same
// moment, in two processes: the second to return loses, even the primary.
func TestTheSecondToReturnLoses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, store onejob.Store, config worker.Config) {
		jobs := onejob.New(store, nil)
		op := onejob.NewOperator(jobs)
		tb := newTable(t, 2, 1, config)
		total := figures.N(360, 13_600)
		for n := range total {
			ctx := t.Context()
			job, primary, err := jobs.Start(ctx, onejob.Intent{Owner: "OWNER-1", Key: fmt.Sprint("KEY-", n), Kind: "charge"},
				onejob.Try{Provider: "primary", Timeout: time.Hour})
			require.NoError(t, err)
			_, err = op.DetachAttempt(ctx, primary.ID, onejob.Decision{By: "runner", Reason: "patience"})
			require.NoError(t, err)
			fallback, err := jobs.BeginAttempt(ctx, job, onejob.Try{Provider: "fallback", Timeout: time.Hour})
			require.NoError(t, err)

			a := worker.Round{Do: "complete", Attempt: fallback, Result: []byte(`"RESULT-fallback"`)}
			b := worker.Round{Do: "complete", Attempt: primary, Result: []byte(`"RESULT-primary"`)}
			var played []worker.Played
			atOnce := n%4 == 0
			if atOnce {
				played = tb.play(a, b)
			} else {
				played = append(tb.play(a), tb.play(b)...)
			}
			first, second := played[0], played[1]
			winner := fallback
			if atOnce && first.Code != "ok" {
				first, second, winner = second, first, primary
			}
			require.Equal(t, "ok", first.Code, "round %d: %+v", n, played)
			require.Equal(t, "late", second.Code, "round %d: %+v", n, played)
			require.Equal(t, string(winner.ID), second.Winner, "round %d: the loser is told who won", n)
			require.Equal(t, first.Digest, second.Digest, "round %d", n)
			_, attempts, err := op.Get(ctx, job.ID)
			require.NoError(t, err)
			for _, a := range attempts {
				want := onejob.StateLate
				if a.ID == winner.ID {
					want = onejob.StateSucceeded
				}
				require.Equal(t, want, a.State, "round %d", n)
			}
		}
		figures.Add(t, figures.Reverse, total-total/4)
		figures.Add(t, figures.AtOnce, total/4)
		figures.Add(t, figures.Operations, 6*total)
	})
}
