package console

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) time.Time { return zero.Add(d) }

// stretches are a row's classes and where they end, in percent.
func stretches(r row) string {
	var parts []string
	for _, s := range r.Segments {
		x, _ := strconv.ParseFloat(strings.TrimSuffix(s.X, "%"), 64)
		w, _ := strconv.ParseFloat(strings.TrimSuffix(s.W, "%"), 64)
		parts = append(parts, fmt.Sprintf("%s %.0f-%.0f", s.Class, x, x+w))
	}
	return strings.Join(parts, ", ")
}

func TestBarsTellTheStory(t *testing.T) {
	t.Parallel()
	attempt := func(n int, state onejob.State, began, ended time.Duration) onejob.Attempt {
		a := onejob.Attempt{Number: n, Provider: "p", State: state, StartedAt: at(began), Deadline: at(began + 10*time.Second), Timeout: 10 * time.Second}
		if ended > 0 {
			a.EndedAt = at(ended)
		}
		return a
	}
	doubt := func(a onejob.Attempt) onejob.Attempt { a.Cause = "timeout"; return a }
	job := onejob.Job{ID: "j", State: onejob.JobOpen, CreatedAt: zero}
	done := job
	done.State, done.EndedAt = onejob.JobCompleted, at(20*time.Second)
	for name, c := range map[string]struct {
		job  onejob.Job
		now  time.Duration
		in   []onejob.Attempt
		want []string
	}{
		"under way: the axis goes to the deadline": {job, 5 * time.Second, []onejob.Attempt{attempt(1, onejob.StateStarted, 0, 0)}, []string{"running 0-50"}},
		"overdue":                           {job, 20 * time.Second, []onejob.Attempt{attempt(1, onejob.StateUnknown, 0, 0)}, []string{"running 0-50, unknown 50-100"}},
		"in doubt by its call":              {job, 5 * time.Second, []onejob.Attempt{attempt(1, onejob.StateUnknown, 0, 0)}, []string{"unsure 0-100"}},
		"in doubt by its call, and overdue": {job, 20 * time.Second, []onejob.Attempt{doubt(attempt(1, onejob.StateUnknown, 0, 0))}, []string{"unsure 0-50, unknown 50-100"}},
		"detached after a doubt": {job, 20 * time.Second, []onejob.Attempt{
			doubt(attempt(1, onejob.StateDetached, 0, 0)), attempt(2, onejob.StateStarted, 15*time.Second, 0)},
			[]string{"unsure 0-40, unknown 40-60, detached 60-80", "running 60-80"}},
		"won after a doubt": {done, time.Hour, []onejob.Attempt{attempt(1, onejob.StateSucceeded, 0, 20*time.Second)}, []string{"won 0-50, unknown 50-100"}},
		"won at once":       {done, time.Hour, []onejob.Attempt{attempt(1, onejob.StateSucceeded, 0, 20*time.Second-1)}, []string{"won 0-50, unknown 50-100"}},
		"detached, and lost": {done, time.Hour, []onejob.Attempt{
			attempt(1, onejob.StateLate, 0, 20*time.Second), attempt(2, onejob.StateSucceeded, 5*time.Second, 15*time.Second)},
			[]string{"lost 0-25, detached 25-100", "won 25-75"}},
		"detached after its deadline": {job, 20 * time.Second, []onejob.Attempt{
			attempt(1, onejob.StateDetached, 0, 0), attempt(2, onejob.StateStarted, 15*time.Second, 0)},
			[]string{"running 0-40, unknown 40-60, detached 60-80", "running 60-80"}},
		"detached, nobody else yet": {job, 20 * time.Second, []onejob.Attempt{attempt(1, onejob.StateDetached, 0, 0)}, []string{"running 0-50, detached 50-100"}},
		"one after the other": {done, time.Hour, []onejob.Attempt{
			attempt(1, onejob.StateFailed, 0, 10*time.Second), attempt(2, onejob.StateSucceeded, 10*time.Second, 20*time.Second)},
			[]string{"lost 0-50", "won 50-100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := draw(c.job, c.in, at(c.now))
			require.False(t, p.NotToScale)
			for i, want := range c.want {
				require.Equal(t, want, stretches(p.Rows[i+1]))
			}
		})
	}
}

// The host's clock may be behind the store's: nothing happens after now.
func TestAClockThatIsBehindDrawsNoNonsense(t *testing.T) {
	t.Parallel()
	a := onejob.Attempt{Number: 1, StartedAt: at(time.Minute), Deadline: at(2 * time.Minute)}
	a.State, a.EndedAt = onejob.StateFailed, at(90*time.Second)
	p := draw(onejob.Job{State: onejob.JobOpen, CreatedAt: zero}, []onejob.Attempt{a}, zero.Add(-time.Hour))
	require.Equal(t, "lost 67-100", stretches(p.Rows[1]))
	require.Equal(t, "100.000%", p.Now)
}

// Ten seconds beside three days are seen, and the page says that it cheats.
func TestAShortRunIsSeenBesideALongDoubt(t *testing.T) {
	t.Parallel()
	a := onejob.Attempt{Number: 1, State: onejob.StateUnknown, StartedAt: at(time.Millisecond), Deadline: at(10 * time.Second)}
	p := draw(onejob.Job{State: onejob.JobOpen, CreatedAt: zero}, []onejob.Attempt{a}, at(72*time.Hour))
	require.True(t, p.NotToScale)
	require.Equal(t, "running 0-9, unknown 9-100", stretches(p.Rows[1]))
	require.Equal(t, []tick{{"0.000%", "start", "0"}, {"100.000%", "end", "+3 d"}}, p.Ticks)
}

func FuzzTheAxisNeitherTurnsBackNorLeavesThePicture(f *testing.F) {
	f.Add(int64(0), int64(1), int64(2), int64(3), int64(4))
	f.Add(int64(-1), int64(1)<<60, int64(5), int64(0), int64(-1)<<60)
	f.Fuzz(func(t *testing.T, created, began, deadline, ended, now int64) {
		moments := []time.Time{}
		for _, d := range []int64{created, began, deadline, ended, now} {
			moments = append(moments, at(time.Duration(d/4)))
		}
		for _, state := range []onejob.State{onejob.StateStarted, onejob.StateUnknown, onejob.StateDetached, onejob.StateLate} {
			a := onejob.Attempt{Number: 1, State: state, StartedAt: moments[1], Deadline: moments[2]}
			if state == onejob.StateLate {
				a.EndedAt, a.LateAt = moments[3], moments[3]
			}
			lines := linesOf([]onejob.Attempt{a, a}, moments[4])
			ax := axisOf(onejob.Job{State: onejob.JobOpen, CreatedAt: moments[0]}, lines, moments[4])
			last := 0.0
			for _, k := range ax.knots {
				share := ax.at(k)
				require.False(t, share < last || share > 1, "%v after %v", share, last)
				last = share
			}
			for _, r := range draw(onejob.Job{State: onejob.JobOpen, CreatedAt: moments[0]}, []onejob.Attempt{a, a}, moments[4]).Rows {
				for _, s := range r.Segments {
					x, err := strconv.ParseFloat(strings.TrimSuffix(s.X, "%"), 64)
					require.NoError(t, err)
					require.False(t, x < 0 || x > 100, s.X)
				}
			}
			require.Less(t, len(ax.ticks()), 8)
		}
	})
}

func FuzzNothingInvisibleIsShown(f *testing.F) {
	for _, s := range []string{"plain", "a\u202eb", "\xff\x00", "tab\tline\n", "\ufeff\u200d", "e\u0301", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range visible(s) {
			require.False(t, r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), "%q", r)
		}
		require.LessOrEqual(t, len([]rune(short(20, s))), 20)
	})
}

func TestSpansAreReadInTwoUnits(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0 s": 0, "12 µs": 12 * time.Microsecond, "250 ms": 250 * time.Millisecond, "1.5 s": 1500 * time.Millisecond, "2 s": 2 * time.Second,
		"10 s": 10*time.Second + 900*time.Millisecond, "1 min 5 s": 65 * time.Second, "3 h": 3 * time.Hour, "2 d 3 h": 51 * time.Hour, "−5 s": -5 * time.Second,
	} {
		require.Equal(t, want, span(d))
	}
}
