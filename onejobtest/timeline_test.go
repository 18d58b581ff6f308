package onejobtest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

func TestTimelineTellsTheStory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		live func(t *testing.T, env *onejobtest.Env) onejob.JobID
		want string
	}{
		{"doubt, a word, and the fallback; the first comes late", doubtfulJob, `
      0s  job created: charge
      0s  attempt 1 began: primary, deadline at 10s
     10s  attempt 1 unknown: its deadline passed
     12s  attempt 1 failed: an operator's word
     12s  attempt 2 began: fallback, deadline at 22s
     13s  attempt 2 succeeded
     13s  job completed: 9 bytes
     13s  attempt 1 came late: 7 bytes dropped
     13s  now: completed
`},
		{"two side by side at one instant", detachedJob, `
      0s  job created: charge
      0s  attempt 1 began: primary, deadline at 10s
      0s  attempt 1 unknown: its call left a doubt
      0s  attempt 1 detached: an operator's word
      0s  attempt 2 began: fallback, deadline at 10s
      0s  attempt 2 failed: proof of no effect
      0s  attempt 3 began: fallback, deadline at 10s
      0s  attempt 1 succeeded
      0s  job completed: 9 bytes
      0s  attempt 3 came late: 7 bytes dropped
      0s  now: completed
`},
		{"canceled while its attempt was open", func(t *testing.T, env *onejobtest.Env) onejob.JobID {
			job, a := start(t, env, "k")
			_, err := env.Operator.CancelJob(t.Context(), job.ID, ada)
			require.NoError(t, err)
			env.Advance(1500 * time.Millisecond)
			_, err = env.Operator.CancelAttempt(t.Context(), a.ID, ada)
			require.NoError(t, err)
			return job.ID
		}, `
      0s  job created: charge
      0s  attempt 1 began: primary, deadline at 10s
      0s  job canceled: an operator's word
    1.5s  attempt 1 canceled: an operator's word
    1.5s  now: canceled
`},
		{"purged", func(t *testing.T, env *onejobtest.Env) onejob.JobID {
			job, a := start(t, env, "k")
			_, err := env.Jobs.Complete(t.Context(), a, []byte("result"))
			require.NoError(t, err)
			env.Advance(time.Hour)
			n, err := env.Operator.Purge(t.Context(), onejob.Retention{Payloads: time.Minute}, 9)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			return job.ID
		}, `
      0s  job created: charge
      0s  attempt 1 began: primary, deadline at 10s
      0s  attempt 1 succeeded
      0s  job completed
  1h0m0s  job purged
  1h0m0s  now: completed
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := onejobtest.New(t, nil)
			require.Equal(t, c.want, "\n"+env.Timeline(c.live(t, env)))
		})
	}
}

func doubtfulJob(t *testing.T, env *onejobtest.Env) onejob.JobID {
	job, first := start(t, env, "k")
	env.Advance(12 * time.Second)
	_, err := env.Operator.Refute(t.Context(), first.ID, ada)
	require.NoError(t, err)
	second, err := env.Jobs.BeginAttempt(t.Context(), job, try("fallback"))
	require.NoError(t, err)
	env.Advance(time.Second)
	_, err = env.Jobs.Complete(t.Context(), second, []byte("fallback!"))
	require.NoError(t, err)
	_, err = env.Jobs.Complete(t.Context(), first, []byte("primary"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	return job.ID
}

func detachedJob(t *testing.T, env *onejobtest.Env) onejob.JobID {
	job, first := start(t, env, "k")
	_, err := env.Jobs.MarkUnknown(t.Context(), first, errors.New("silence"))
	require.NoError(t, err)
	_, err = env.Operator.DetachAttempt(t.Context(), first.ID, ada)
	require.NoError(t, err)
	second, err := env.Jobs.BeginAttempt(t.Context(), job, try("fallback"))
	require.NoError(t, err)
	_, err = env.Jobs.Fail(t.Context(), second, onejob.NoEffect(errors.New("refused")))
	require.NoError(t, err)
	third, err := env.Jobs.BeginAttempt(t.Context(), job, try("fallback"))
	require.NoError(t, err)
	_, err = env.Jobs.Complete(t.Context(), first, []byte("primary's"))
	require.NoError(t, err)
	_, err = env.Jobs.Complete(t.Context(), third, []byte("dropped"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	return job.ID
}

func TestTimelineShowsNothingOfTheUsers(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	env := onejobtest.New(t, nil)
	in := onejob.Intent{Owner: canary, Key: canary, Kind: "charge", Params: []byte(`"` + canary + `"`), Scope: []string{canary}}
	job, first, err := env.Jobs.Start(t.Context(), in, try("primary"))
	require.NoError(t, err)
	_, err = env.Jobs.SetExternalRef(t.Context(), first, canary)
	require.NoError(t, err)
	_, err = env.Jobs.Fail(t.Context(), first, errors.New("POST /"+canary+": timeout"))
	require.NoError(t, err)
	_, err = env.Operator.CancelAttempt(t.Context(), first.ID, onejob.Decision{By: canary, Reason: canary})
	require.NoError(t, err)
	second, err := env.Jobs.BeginAttempt(t.Context(), job, try("fallback"))
	require.NoError(t, err)
	_, err = env.Jobs.Complete(t.Context(), second, []byte(canary))
	require.NoError(t, err)
	_, err = env.Jobs.Complete(t.Context(), first, []byte(canary))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	text := env.Timeline(job.ID)
	require.Equal(t, 9, strings.Count(text, "\n"), text)
	require.NotContains(t, text, canary)
	require.NotContains(t, text, string(job.ID))
}

func TestTimelineOfNoJobSaysSo(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	require.Contains(t, env.Timeline("x"), "no timeline: ")
	require.Contains(t, env.Timeline(""), "no timeline: the job's ID is empty")
	require.Contains(t, env.Timeline("x"), onejob.ErrNotFound.Error())
}
