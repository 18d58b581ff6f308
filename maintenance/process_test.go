package maintenance_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
)

// stretch is one run in one process.
type stretch struct {
	pid         int
	run         int64
	begun, last time.Time
	over        bool // nothing of it is under way
}

// runsOf puts the steps of a diary together.
func runsOf(list []entry) []stretch {
	var runs []stretch
	for _, e := range list {
		i := slices.IndexFunc(runs, func(s stretch) bool { return s.pid == e.PID && s.run == e.Run })
		if i < 0 {
			i = len(runs)
			runs = append(runs, stretch{pid: e.PID, run: e.Run, begun: e.At})
		}
		runs[i].last, runs[i].over = e.At, !e.Begun
	}
	slices.SortFunc(runs, func(a, b stretch) int { return a.begun.Compare(b.begun) })
	return runs
}

// onlyOneAtATime is that no run began before the last one was over for the
// interval. By how much a holder's own may come sooner is the jitter's.
func (w *world) onlyOneAtATime(runs []stretch, every time.Duration) {
	w.Helper()
	for i := 1; i < len(runs); i++ {
		gap := runs[i].begun.Sub(runs[i-1].last)
		require.Greater(w, gap, every*8/10, "run %d of %d: %v after %v", i, len(runs), runs[i], runs[i-1])
	}
}

func TestOfThreeProcessesOneAtATimeRunsOncePerInterval(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.final(60)
		e := w.where
		// The lease is far above what a busy machine pauses a process for.
		e.Diary, e.Every, e.Lease, e.Work, e.Limit = w.diary(), 700*time.Millisecond, 15*time.Second, 20*time.Millisecond, 10
		for range 3 {
			w.process(e)
		}
		for _, task := range []string{"purge", "reconcile"} {
			var runs []stretch
			w.until("there were eight runs", func() bool { runs = runsOf(w.read(e.Diary, task)); return len(runs) > 8 })
			w.onlyOneAtATime(runs, e.Every)
		}
		require.Equal(w, int64(60), w.stats().Purged)
		purge := runsOf(w.read(e.Diary, "purge"))[0]
		require.Greater(w, purge.last.Sub(purge.begun), 7*e.Work, "the first has all the steps")
	})
}

func TestWhenTheHolderIsKilledAnotherTakesOver(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"purge", "reconcile"} {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(w *world) {
				w.final(200)
				e := w.where
				e.Diary, e.Every, e.Lease, e.Work, e.Limit = w.diary(), 500*time.Millisecond, 6*time.Second, 300*time.Millisecond, 1
				processes := map[int]*exec.Cmd{}
				for range 3 {
					cmd := w.process(e)
					processes[cmd.Process.Pid] = cmd
				}
				for kill := range 2 {
					var last stretch
					w.until("one of those that live is at work", func() bool {
						runs := runsOf(w.read(e.Diary, task))
						if len(runs) == 0 {
							return false
						}
						last = runs[len(runs)-1]
						return !last.over && processes[last.pid] != nil
					})
					require.NoError(w, processes[last.pid].Process.Kill())
					delete(processes, last.pid)
					until := w.turnEnds(task)
					var next stretch
					w.until("another has taken over", func() bool {
						runs := runsOf(w.read(e.Diary, task))
						next = runs[len(runs)-1]
						return next.pid != last.pid
					})
					require.False(w, next.begun.Before(until), "kill %d: it began at %v, and the turn ended at %v", kill, next.begun, until)
				}
				w.invariants()
			})
		})
	}
}

// turnEnds is when the turn is over, as the row says.
func (w *world) turnEnds(task string) time.Time {
	w.Helper()
	name := "onejob/" + task
	if task == "reconcile" {
		name += "/default"
	}
	if w.where.File != "" {
		var micros int64
		require.NoError(w, w.sqlite().QueryRow(`SELECT until FROM onejob_turns WHERE name = ?1`, name).Scan(&micros))
		return time.UnixMicro(micros)
	}
	var until time.Time
	require.NoError(w, dbtest.OpenPostgres(w, w.where.DSN).QueryRow(`SELECT until FROM onejob.turns WHERE name = $1`, name).Scan(&until))
	return until
}

// invariants looks at the rows while processes work on them.
func (w *world) invariants() {
	w.Helper()
	if w.where.File != "" {
		dbtest.Check(w, w.sqlite(), "onejob_")
		return
	}
	dbtest.Check(w, dbtest.OpenPostgres(w, w.where.DSN), "onejob.")
}

func TestARunThatIsUnderWayIsRenewed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.final(10)
		e := w.where
		// One run takes longer than the lease, in steps that are shorter.
		e.Diary, e.Every, e.Lease, e.Work, e.Limit = w.diary(), 300*time.Millisecond, 6*time.Second, time.Second, 1
		w.process(e)
		w.process(e)
		var runs []stretch
		w.until("the first run is over and another has begun", func() bool {
			runs = runsOf(w.read(e.Diary, "purge"))
			return len(runs) > 1
		})
		require.Greater(w, runs[0].last.Sub(runs[0].begun), e.Lease, "it was too short to show anything")
		w.onlyOneAtATime(runs, e.Every)
		require.Equal(w, int64(10), w.stats().Purged)
		require.False(w, strings.Contains(w.logs.String(), "lost"))
	})
}
