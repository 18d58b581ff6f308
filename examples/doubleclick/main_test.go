package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestManyClicksAreOneJobAndOneExecution(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		tellsTheStory(t, "2 clicks")
	})
	t.Run("sqlite, 50 clicks", func(t *testing.T) {
		t.Parallel()
		tellsTheStory(t, "50 clicks", "-n", "50")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := dbtest.EmptyPostgresDSN(t)
		tellsTheStory(t, "8 clicks", "-n", "8", "-postgres", dsn)
		// The tables are there now, and so are the first run's jobs.
		tellsTheStory(t, "2 clicks", "-postgres", dsn)
	})
}

func tellsTheStory(t *testing.T, clicks string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, args), &out)
	for _, line := range []string{
		clicks + " at once, one idempotency key\n",
		"kept  one job: each of the " + clicks + " was given job ",
		"kept  one result: asked again, each got the receipt \"card-1\"\n",
		"kept  one intent: the same key with another body is a conflict (HTTP 409)\n",
		"kept  one execution per attempt: asked to charge: card\n",
		"kept  a timeout is not a failure: the job is unknown (HTTP 504)\n",
		"kept  doubt blocks: the fallback was refused on the same job, which is unknown (HTTP 409)\n",
		"kept  one execution per attempt: asked to charge: wallet, then card\n",
		"attempt 1  wallet  failed     decided by: ann\n",
		"attempt 2  card    succeeded  decided by: nobody, it returned\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.NotContains(t, out.String(), "BROKEN")
	require.Equal(t, 2, strings.Count(out.String(), "card        leaves "), "one for each order")
	require.Equal(t, 1, strings.Count(out.String(), "wallet      leaves "))
}

func TestBadFlagsAreRefused(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.EqualError(t, run(t.Context(), &out, []string{"-n", "1"}), "-n must be 2 to 1000")
	require.Error(t, run(t.Context(), &out, []string{"-postgres", "postgres://127.0.0.1:1/none?sslmode=disable"}))
}
