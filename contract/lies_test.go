package contract_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/onejobtest"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func serve(t *testing.T, lie string) (*chattest.Server, provider.Provider) {
	t.Helper()
	s, err := chattest.Serve()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.Lie(lie)
	p, err := s.Provider("acme")
	require.NoError(t, err)
	return s, p
}

func orderSum(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := chattest.Contract()
	require.NoError(t, err)
	return c
}

func TestEachLieFailsForItsOwnReason(t *testing.T) {
	t.Parallel()
	seen := map[contract.Reason]string{}
	for _, lie := range chattest.Lies() {
		require.Empty(t, seen[lie.Reason], "two lies have one reason: %s", lie.Name)
		seen[lie.Reason] = lie.Name
		t.Run(lie.Name, func(t *testing.T) {
			t.Parallel()
			s, p := serve(t, lie.Name)
			env := onejobtest.New(t, nil)
			r, err := orderSum(t).Qualify(t.Context(), p, nil)
			require.NoError(t, err)
			require.False(t, r.Passed(), "%s", r)
			require.Equal(t, []contract.Reason{lie.Reason}, r.Reasons(), "%s", r)
			require.True(t, r.Prompt.Wrong || r.Planned == r.Runs && r.Passes < r.Runs)
			require.Contains(t, r.String(), string(lie.Reason))
			if r.Passes == 0 && s.Executions() == 0 {
				require.Contains(t, []string{"special-tokens", "small-window"}, lie.Name)
			}
			q, err := contract.Save(t.Context(), env.Operator, r)
			require.NoError(t, err)
			require.Less(t, q.Passes, q.Runs)
		})
	}
}

// No false alarm: honest providers, also slow and verbose ones and ones with the
// keys in another order, pass each of 200 times.
func TestTheHonestPass(t *testing.T) {
	t.Parallel()
	const times = 200
	c := orderSum(t)
	ways := chattest.HonestWays()
	var group sync.WaitGroup
	next := make(chan int)
	for range 4 {
		group.Go(func() {
			for i := range next {
				_, p := serve(t, ways[i%len(ways)])
				r, err := c.Qualify(t.Context(), p, &contract.QualifyOptions{Parallel: 1 + i%5})
				if err != nil || !r.Passed() {
					t.Errorf("%q: %v\n%s", ways[i%len(ways)], err, r)
				}
			}
		})
	}
	for i := range times {
		next <- i
	}
	close(next)
	group.Wait()
}

func TestAReportTellsPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "one-in-ten")
	var told []contract.Progress
	r, err := orderSum(t).Qualify(t.Context(), p, &contract.QualifyOptions{
		Timeout:  time.Minute,
		Progress: func(now contract.Progress) { told = append(told, now) },
	})
	require.NoError(t, err)
	require.Len(t, told, 20)
	require.Equal(t, contract.Progress{Runs: 10, Planned: 20, Case: "two of one", Reason: contract.ReasonSchema}, told[9])
	require.Equal(t, 20, r.Runs)
	require.Equal(t, 18, r.Passes)
	require.InDelta(t, 0.283, r.Bound, 0.001) // 2 of 20, Clopper and Pearson
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back contract.Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r.String(), back.String())
	require.Contains(t, r.String(), "NOT qualified: acme (model large-2) under contract order-sum, revision 1\n")
	require.Contains(t, r.String(), `1 × schema, case "two of one": at /properties/comment`)
}
