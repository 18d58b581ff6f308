package model_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/onejob-go/onejob/faults/figures"
)

const workers = 2

func TestEverySequenceGetsTheModelsAnswers(t *testing.T) {
	seed := figures.Seed(t)
	stores := map[string]func(*testing.T) *subject{"postgres": newPostgres, "sqlite": newSQLite}
	for i, kind := range []struct {
		name   string
		stores []string
		share  int // of the sequences of each store, in tenths
	}{
		{"postgres", []string{"postgres"}, 1},
		{"sqlite", []string{"sqlite"}, 1},
		{"both", []string{"postgres", "sqlite"}, 9},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range workers {
				checks := (sequences()*kind.share/10 + workers - 1) / workers
				mine := random.Uint64()
				t.Run("worker", func(t *testing.T) {
					t.Parallel()
					var subjects []*subject
					for _, name := range kind.stores {
						subjects = append(subjects, stores[name](t))
					}
					check(t, subjects, mine, checks)
				})
			}
		})
	}
}

// check runs sequences and counts them.
func check(t *testing.T, subjects []*subject, seed uint64, checks int) {
	var began, steps, operations atomic.Int64
	rapidFlags.Lock()
	release := sync.OnceFunc(rapidFlags.Unlock)
	defer release()
	if !seedGiven {
		require.NoError(t, flag.Set("rapid.seed", fmt.Sprint(seed)))
	}
	if !checksGiven {
		require.NoError(t, flag.Set("rapid.checks", fmt.Sprint(checks)))
	}
	rapid.Check(t, func(t *rapid.T) {
		release()
		began.Add(1)
		m := newMachine(t, subjects, &operations)
		t.Repeat(m.actions())
		steps.Add(int64(m.steps))
		m.whole(t)
	})
	t.Logf("%d steps a sequence on average", steps.Load()/max(1, began.Load()))
	for _, s := range subjects {
		figure := figures.SequencesPG
		if s.name == "sqlite" {
			figure = figures.SequencesSL
		}
		figures.Add(t, figure, int(began.Load()))
	}
	figures.Add(t, figures.Operations, int(operations.Load()))
}
