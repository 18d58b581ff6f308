package storm

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/checker"
	"github.com/onejob-go/onejob/faults/figures"
	"github.com/onejob-go/onejob/faults/history"
	"github.com/onejob-go/onejob/faults/worker"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Workers on one file, each of which may be killed or stopped while it holds the
// lock that all others wait for.
func TestSQLiteKeepsItsPromisesWhileEverythingDies(t *testing.T) {
	seed := figures.Seed(t)
	var sum rate
	for epoch, total := 0, max(2, figures.N(4, 40)); epoch < total; epoch++ {
		sum.add(stormSQLite(t, seed+uint64(epoch), epoch))
	}
	figures.Add(t, figures.RateSL, sum.perSecond())
}

func stormSQLite(t *testing.T, seed uint64, epoch int) rate {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.db")
	store, err := onejob.OpenSQLite(ctx, path, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(ctx))
	admin, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Exec("CREATE TABLE effects (job TEXT, attempt TEXT) STRICT")
	require.NoError(t, err)
	require.NoError(t, store.Close())

	texts, hook := filepath.Join(dir, "texts"), epoch%2 == 1
	wrong := skew()
	if epoch%3 == 2 {
		wrong = 0 // so that unknown that is started again would show
	}
	began := history.Now()
	var log schedule
	workers := newCrew(t, 3, seed, &log, func(name string) worker.Config {
		seed++
		return worker.Config{
			Name: name, Store: "sqlite", Address: path, History: filepath.Join(dir, name), Texts: texts, Seed: seed,
			Goroutines: 4, Began: began, KeyEvery: 25 * time.Millisecond, Window: 6, Skew: wrong, Hook: hook, CancelOne: 1,
		}
	})
	var chaos sync.WaitGroup
	stop := make(chan struct{})
	every(stop, &chaos, 1400*time.Millisecond, seed, func(*rand.Rand) { workers.kill() })
	every(stop, &chaos, 4*time.Second, seed, func(rng *rand.Rand) {
		workers.pause(time.Duration(20+rng.IntN(1000)) * time.Millisecond)
	})
	lasted := time.Duration(figures.N(20, 20)) * time.Second
	time.Sleep(lasted)
	close(stop)
	chaos.Wait()
	workers.dismiss()

	store, err = onejob.OpenSQLite(ctx, path, nil)
	require.NoError(t, err)
	defer store.Close()
	more := askAgain(t, admin, store, workers.files, hook, "onejob_")
	verdict, err := checker.Check(ctx, checker.Run{
		Store: "sqlite", DB: admin, Histories: workers.files, Texts: []string{texts}, Hook: hook,
		Skewed: wrong > 0, More: more, Schedule: log.events,
	})
	require.NoError(t, err)
	report(t, verdict)
	dbtest.Check(t, admin, "onejob_")
	var ok string
	require.NoError(t, admin.QueryRow("PRAGMA integrity_check").Scan(&ok))
	require.Equal(t, "ok", ok)
	purgeAll(t, admin, store, "onejob_")
	figures.Add(t, figures.ClientKills, workers.killed)
	figures.Add(t, figures.Stops, workers.paused)
	return rate{verdict.Operations - verdict.Open, lasted}
}
