package upgrade_test

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// Nobody stops the old program for a migration.
func TestAnOldProgramWritesWhileTheSchemaIsMigrated(t *testing.T) {
	t.Parallel()
	onEachRelease(t, func(t *testing.T, r *release) {
		onBoth(t, func(t *testing.T, p place) {
			old := r.on(t, p.address)
			old.does("migrate", worker.Order{})
			first := p.version(t)
			populatePurged(old)
			populate(old, "before ")
			store := p.store(t)
			var longest []time.Duration
			for round := range 5 {
				longest = append(longest, old.writesDuring(func() {
					require.NoError(t, store.Migrate(t.Context()))
				}, fmt.Sprint("up ", round)))
				longest = append(longest, old.writesDuring(func() {
					require.NoError(t, store.MigrateTo(t.Context(), first))
				}, fmt.Sprint("down ", round)))
			}
			require.NoError(t, store.Migrate(t.Context()))
			requireAll(t, presentOn(t, p.address), "before ")
			p.check(t)
			t.Logf("the longest write beside a migration, ten times: %v", longest)
		})
	})
}

// writesDuring has four callers write without a pause, from before fn until after
// it, and returns how long the longest write took.
func (p *process) writesDuring(fn func(), round string) time.Duration {
	p.t.Helper()
	over := make(chan struct{})
	var callers, begun sync.WaitGroup
	longest := make([]time.Duration, 4)
	for i := range longest {
		begun.Add(1)
		callers.Go(func() {
			first := sync.OnceFunc(begun.Done)
			defer first()
			for n := 0; ; n++ {
				at := time.Now()
				a, ok := <-p.send("do", worker.Order{
					Intent: intent(fmt.Sprint(round, " ", i, " ", n)), Provider: "primary", Result: "result",
				})
				longest[i] = max(longest[i], time.Since(at))
				if !ok || a.Text != "" || a.Calls != 1 {
					p.t.Errorf("a write beside a migration: %+v", a)
					return
				}
				first()
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	begun.Wait()
	fn()
	close(over)
	callers.Wait()
	return slices.Max(longest)
}

// A migration that waits for a lock has everybody wait behind it: it must give up,
// say so, and leave all as it was.
func TestAMigrationDoesNotWaitForALockForEver(t *testing.T) {
	t.Parallel()
	dsn := dbtest.PostgresDSN(t)
	p := place{"postgres", dsn, "onejob.", dbtest.OpenPostgres(t, dsn)}
	program := presentOn(t, dsn)
	populatePurged(program)
	populate(program, "one ")
	idle, err := p.db.Begin() // somebody forgot to end it
	require.NoError(t, err)
	defer idle.Rollback()
	_, err = idle.Exec("SELECT count(*) FROM onejob.jobs")
	require.NoError(t, err)
	refuses := func(store migrating) {
		t.Helper()
		before := p.dump(t)
		err := store.MigrateTo(t.Context(), 0) // takes the tables away
		require.ErrorIs(t, err, onejob.ErrUnavailable)
		require.ErrorContains(t, err, "another transaction holds a lock")
		require.ErrorContains(t, err, fmt.Sprint("the schema stays at version ", newest(t, store)))
		require.Equal(t, before, p.dump(t))
		requireAll(t, program, "one ")
	}
	refuses(p.store(t))

	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("lock_timeout", "100ms") // the host's own counts
	u.RawQuery = q.Encode()
	began := time.Now()
	refuses(place{"postgres", u.String(), "onejob.", nil}.store(t))
	t.Logf("gave up after %v", time.Since(began))
}

// A write that is under way, in a host's transaction for as long as that likes,
// does not stop the migrations there are, and so they stop no write. One that must
// have such a lock is to say so in the release's notes, and is excepted here.
func TestAMigrationNeedsNoLockThatWritersHold(t *testing.T) {
	t.Parallel()
	onEachRelease(t, func(t *testing.T, r *release) {
		dsn := dbtest.EmptyPostgresDSN(t)
		p := place{"postgres", dsn, "onejob.", dbtest.OpenPostgres(t, dsn)}
		p.exec(t, "DROP SCHEMA onejob CASCADE")
		r.on(t, dsn).does("migrate", worker.Order{})
		writer, err := p.db.Begin()
		require.NoError(t, err)
		defer writer.Rollback()
		for _, table := range p.names(t) {
			if table != "migrations" {
				_, err = writer.Exec("LOCK TABLE onejob." + table + " IN ROW EXCLUSIVE MODE") // as writes do
				require.NoError(t, err)
			}
		}
		require.NoError(t, p.store(t).Migrate(t.Context()))
	})
}
