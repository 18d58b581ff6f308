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
	"github.com/onejob-go/onejob/internal/faultproxy"
)

// Workers on one PostgreSQL, which is killed again and again, behind a proxy
// that cuts their connections.
func TestPostgresKeepsItsPromisesWhileEverythingDies(t *testing.T) {
	seed := figures.Seed(t)
	// What a killed process has written stays with the kernel: no need to wait
	// for disks.
	cluster, err := dbtest.Start("fsync=off", "full_page_writes=off", "restart_after_crash=on")
	require.NoError(t, err)
	defer cluster.Stop()
	proxy := faultproxy.New(t, cluster.DSN("postgres"))
	cutter := newCutter(seed)
	var sum rate
	for epoch, total := 0, max(2, figures.N(3, 26)); epoch < total; epoch++ {
		sum.add(stormPostgres(t, cluster, proxy, cutter, seed+uint64(epoch), epoch))
	}
	figures.Add(t, figures.Cuts, int(cutter.cuts.Load()))
	figures.Add(t, figures.RatePG, sum.perSecond())
}

func stormPostgres(t *testing.T, cluster *dbtest.Cluster, proxy *faultproxy.Proxy, cutter *cutter, seed uint64, epoch int) rate {
	ctx := context.Background()
	admin, err := sql.Open("postgres", cluster.DSN("postgres")+"&application_name=admin")
	require.NoError(t, err)
	defer admin.Close()
	for _, statement := range []string{
		"DROP SCHEMA IF EXISTS onejob CASCADE", "DROP TABLE IF EXISTS effects", "CREATE TABLE effects (job text, attempt text)",
	} {
		_, err = admin.Exec(statement)
		require.NoError(t, err)
	}
	store, err := onejob.NewPostgresStore(admin, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(ctx))

	dir := t.TempDir()
	texts, hook := filepath.Join(dir, "texts"), epoch%2 == 1
	began := history.Now()
	var log schedule
	workers := newCrew(t, 3, seed, &log, func(name string) worker.Config {
		seed++
		return worker.Config{
			Name: name, Store: "postgres", Address: proxy.DSN, History: filepath.Join(dir, name), Texts: texts, Seed: seed,
			Goroutines: 5, Conns: 2, Began: began, KeyEvery: 100 * time.Millisecond, Window: 6, Skew: skew(), Silence: time.Second, Hook: hook, CancelOne: 15,
		}
	})
	var chaos sync.WaitGroup
	var down time.Duration
	kills, crashes := 0, 0
	stop := make(chan struct{})
	proxy.Decide(func(at faultproxy.Point) faultproxy.Fault {
		f := cutter.decide(at)
		if f.Do != faultproxy.Forward {
			log.note("cut: point %d, action %d", f.At, f.Do)
		}
		return f
	})
	every(stop, &chaos, 1000*time.Millisecond, seed, func(rng *rand.Rand) {
		from := time.Now()
		if rng.IntN(6) == 0 {
			log.note("killing a process of the server")
			require.NoError(t, cluster.KillChild(rng))
			crashes++
		} else {
			log.note("killing the server")
			require.NoError(t, cluster.Kill())
			require.NoError(t, cluster.Boot())
			kills++
		}
		log.note("the server is up")
		down += time.Since(from)
	})
	every(stop, &chaos, 2200*time.Millisecond, seed, func(*rand.Rand) { workers.kill() })
	every(stop, &chaos, 4*time.Second, seed, func(rng *rand.Rand) {
		workers.pause(time.Duration(20+rng.IntN(1500)) * time.Millisecond)
	})
	lasted := time.Duration(figures.N(45, 45)) * time.Second
	time.Sleep(lasted)
	close(stop)
	chaos.Wait()
	proxy.Decide(nil)
	proxy.Sever(faultproxy.RST) // what went silent shall not wait
	workers.dismiss()

	t.Logf("%d kills of the server, %d of one of its processes, %v down", kills, crashes, down)

	noSessions(t, admin)
	more := askAgain(t, admin, store, workers.files, hook, "onejob.")
	verdict, err := checker.Check(ctx, checker.Run{
		Store: "postgres", DB: admin, Histories: workers.files, Texts: []string{texts}, Hook: hook,
		More: more, Schedule: log.events,
	})
	require.NoError(t, err)
	report(t, verdict)
	dbtest.Check(t, admin, "onejob.")
	purgeAll(t, admin, store, "onejob.")
	figures.Add(t, figures.ServerKills, kills)
	figures.Add(t, figures.ClientKills, workers.killed)
	figures.Add(t, figures.Stops, workers.paused)
	return rate{verdict.Operations - verdict.Open, lasted - down}
}

// rate is how much was answered while the server was up.
type rate struct {
	operations int
	up         time.Duration
}

func (r *rate) add(more rate) { r.operations, r.up = r.operations+more.operations, r.up+more.up }

func (r *rate) perSecond() int { return int(float64(r.operations) / r.up.Seconds()) }

func skew() time.Duration {
	if figures.Soak() {
		return 10 * 365 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// report counts a verdict and fails the test on any violation.
func report(t *testing.T, v checker.Verdict) {
	t.Helper()
	t.Logf("%d operations on %d jobs, %d of unknown fate, %d with a context that ended",
		v.Operations, v.Keys, v.Open, v.Canceled)
	figures.Add(t, figures.Operations, v.Operations)
	figures.Add(t, figures.StormOperations, v.Operations)
	figures.Add(t, figures.Cancels, v.Canceled)
	require.Zero(t, v.Undecided, "histories too long to decide: the run proves nothing of them")
	for i, text := range v.Violations {
		if i == 5 {
			t.Errorf("… and %d more", len(v.Violations)-i)
			break
		}
		t.Error(text)
	}
}
