package onejobtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

func TestARowThatBreaksAnInvariantFailsTheTest(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"the digest is the result's":         `UPDATE onejob_jobs SET result = X'00'`,
		"version tells how often":            `UPDATE onejob_jobs SET version = 7`,
		"attempt numbers of unpurged jobs":   `UPDATE onejob_attempts SET number = 2`,
		"at most one winner, and it is the ": `UPDATE onejob_attempts SET state = 'failed'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			env := onejobtest.New(f, nil)
			_, a := start(t, env, "k")
			_, err := env.Jobs.Complete(t.Context(), a, []byte("result"))
			require.NoError(t, err)
			_, err = env.DB.Exec(damage)
			require.NoError(t, err)
			f.end()
			require.True(t, f.failed)
			require.Contains(t, f.log.String(), "broken invariant: ")
			require.Contains(t, f.log.String(), name)
			require.Contains(t, f.log.String(), "job completed: ", "the story is missing")
		})
	}
}

func TestAPassingTestIsLeftInPeace(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := onejobtest.New(f, nil)
	_, a := start(t, env, "k")
	env.CutReply()
	_, err := env.Jobs.Complete(t.Context(), a, []byte("result"))
	require.NoError(t, err)
	f.end()
	require.False(t, f.failed)
	require.Empty(t, f.log.String())
	require.Error(t, env.DB.Ping(), "the pool was left open")
}

func TestAFailedTestLogsTheStoriesOfItsJobs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := onejobtest.New(f, nil)
	var ids []onejob.JobID
	for i := range 22 {
		job, _ := start(t, env, fmt.Sprint(i))
		ids = append(ids, job.ID)
	}
	f.Errorf("the test's own message")
	f.end()
	last := -1
	for _, id := range ids[:20] {
		at := strings.Index(f.log.String(), "job "+string(id)+"\n"+"      0s  job created: charge\n")
		require.Greater(t, at, last, "in the order of their creation")
		last = at
	}
	require.NotContains(t, f.log.String(), string(ids[20]))
	require.Contains(t, f.log.String(), "and more jobs")
}

// A test that asks for a fault and never meets it shows nothing.
func TestACutThatNeverCameFailsTheTest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := onejobtest.New(f, nil)
	start(t, env, "k")
	env.CutReply()
	_, _, err := env.Jobs.Create(t.Context(), intent("k")) // is there, writes nothing
	require.NoError(t, err)
	f.end()
	require.True(t, f.failed)
	require.Contains(t, f.log.String(), "nothing was written after that")
}

func TestTimeDoesNotGoBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := onejobtest.New(f, nil)
	before := env.Now()
	env.Advance(-time.Second)
	require.True(t, f.failed)
	require.Equal(t, before, env.Now())
	f.end()
}
