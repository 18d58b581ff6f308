package failover_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// walks are what is killed at every step.
var walks = map[string]struct {
	patience time.Duration
	trouble  func(w *world)
	wins     []int // who may
}{
	"the first refuses":           {0, func(w *world) { w.servers[0].Refuse(http.StatusTooManyRequests) }, []int{1}},
	"the first acts and dies":     {0, func(w *world) { w.servers[0].Die() }, []int{0, 1}},
	"the first hangs, and a race": {100 * time.Millisecond, func(w *world) { w.servers[0].Hang() }, []int{0, 1}},
	"all is well":                 {0, func(*world) {}, []int{0, 1}},
}

// TestAWalkThatIsKilledAtAnyStepIsResumed kills a process before its first
// step, then another before its second and so on, until one gets through. Each
// time other processes go on with the job. Whenever a provider is called, the
// rows say that this attempt is the one that is under way.
func TestAWalkThatIsKilledAtAnyStepIsResumed(t *testing.T) {
	t.Parallel()
	for name, walk := range walks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, 0, func(w *world) {
				// A few at a time, for they mostly wait; each has servers of its own.
				var through atomic.Bool
				var group sync.WaitGroup
				var next atomic.Int64
				for range 3 {
					group.Go(func() {
						for kill := int(next.Add(1)); kill < 60 && !through.Load(); kill = int(next.Add(1)) {
							if w.killedAt(kill, walk.patience, walk.trouble, walk.wins) {
								continue
							}
							through.Store(true)
						}
					})
				}
				group.Wait()
				require.True(w, through.Load(), "every one of the walks was killed")
				require.Greater(w, next.Load(), int64(8), "so few steps cannot be a walk")
			})
		})
	}
}

// killedAt runs one job, the first time in a process that dies at that step. It
// reports whether there was such a step.
func (w *world) killedAt(kill int, patience time.Duration, trouble func(w *world), wins []int) bool {
	own := &world{T: w.T, jobs: w.jobs, op: w.op, contract: w.contract, where: w.where}
	own.serve(2)
	own.qualify(1)
	own.watch()
	trouble(own)
	e := own.where
	e.Key, e.Kill, e.Patience = fmt.Sprint("k", kill), kill, patience
	for _, s := range own.servers {
		e.URLs = append(e.URLs, s.URL)
	}
	first := own.process(e)
	e.Kill = 0
	own.resume(e, kill, wins)
	return first == "killed"
}

// watch looks at the rows whenever a provider is called.
func (w *world) watch() {
	for i, s := range w.servers {
		s.Arrived(func(r chattestRequest) {
			var mine *onejob.Attempt
			for entry, err := range w.op.Attempts(w.Context(), onejob.Filter{}) {
				if err != nil {
					w.Errorf("%v", err)
					return
				}
				if entry.Attempt.ProviderKey == r.Key {
					mine = &entry.Attempt
				}
			}
			if mine == nil || mine.Provider != names[i] {
				w.Errorf("%s was called, and no attempt of its own is open", names[i])
				return
			}
			_, attempts, err := w.op.Get(w.Context(), mine.JobID)
			if err != nil {
				w.Errorf("%v", err)
			}
			raced := slices.ContainsFunc(attempts, func(a onejob.Attempt) bool {
				return a.ID == mine.ID && a.State == onejob.StateDetached // meanwhile
			})
			for _, a := range attempts {
				if a.State.Open() && a.ID != mine.ID && !raced {
					w.Errorf("%s was called while %s is %s", names[i], a.Provider, a.State)
				}
			}
		})
	}
}

// process runs an errand and tells how it ended.
func (w *world) process(e errand) string {
	w.Helper()
	exe, err := os.Executable()
	require.NoError(w, err)
	raw, err := json.Marshal(e)
	require.NoError(w, err)
	cmd := exec.CommandContext(w.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	out, _ := cmd.CombinedOutput()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == exitDone:
		return "done"
	case code == exitRefused:
		return "refused"
	case code == -1 && e.Kill > 0:
		return "killed"
	default:
		require.Fail(w, "a process broke", "%d: %s", code, out)
		return ""
	}
}

// resume runs the job in new processes until it is done.
func (w *world) resume(e errand, kill int, wins []int) {
	w.Helper()
	end := time.Now().Add(30 * time.Second)
	for {
		w.untilNothingRuns(e.Key)
		if w.process(e) == "done" {
			break
		}
		for _, s := range w.servers {
			s.Release() // what hung in the killed process's name comes to an end
		}
		require.True(w, time.Now().Before(end), "killed at step %d, the job does not come to an end: %v", kill, w.calls())
	}
	job, err := w.jobs.GetByKey(w.Context(), "owner-1", e.Key)
	require.NoError(w, err)
	require.Equal(w, onejob.JobCompleted, job.State)
	require.True(w, slices.ContainsFunc(wins, func(i int) bool { return names[i] == job.Attempt.Provider }), job.Attempt.Provider)
	w.everyCallHasItsRow(job.ID)
}

// untilNothingRuns waits for the deadline of what a killed process has left.
func (w *world) untilNothingRuns(key string) {
	w.Helper()
	require.Eventually(w, func() bool {
		job, err := w.jobs.GetByKey(w.Context(), "owner-1", key)
		return err != nil || job.Status() != onejob.StatusRunning
	}, 20*time.Second, 20*time.Millisecond)
}

// everyCallHasItsRow is that of all that the providers have seen, each request
// is another attempt's.
func (w *world) everyCallHasItsRow(id onejob.JobID) {
	w.Helper()
	_, attempts, err := w.op.Get(w.Context(), id)
	require.NoError(w, err)
	for i, s := range w.servers {
		seen := map[string]int{}
		for _, r := range s.Requests() {
			if r.Lookup {
				continue
			}
			seen[r.Key]++
			require.True(w, slices.ContainsFunc(attempts, func(a onejob.Attempt) bool {
				return a.ProviderKey == r.Key && a.Provider == names[i]
			}), "%s was called without an attempt", names[i])
		}
		for _, n := range seen {
			require.Equal(w, 1, n, "one attempt is one request")
		}
	}
}
