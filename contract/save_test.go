package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/onejobtest"
	"github.com/onejob-go/onejob/provider"
)

// CI qualifies, and the deployment saves.
func TestAReportMayTravelAsJSON(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "")
	env := onejobtest.New(t, nil)
	r, err := orderSum(t).Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back contract.Report
	require.NoError(t, json.Unmarshal(text, &back))
	q, err := contract.Save(t.Context(), env.Operator, back)
	require.NoError(t, err)
	require.Equal(t, orderSum(t).Requirement(p.Route()), q.Requirement)
	require.Equal(t, q.Runs, q.Passes)
}

func TestAnOldReportIsNoProof(t *testing.T) {
	t.Parallel()
	s, p := serve(t, "")
	env := onejobtest.New(t, nil)
	c := orderSum(t)
	passed, err := c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	s.Lie("wraps")
	failed, err := c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	_, err = contract.Save(t.Context(), env.Operator, failed)
	require.NoError(t, err)
	_, err = contract.Save(t.Context(), env.Operator, passed)
	require.ErrorIs(t, err, contract.ErrOld, "it passed before it failed")

	passed.At = time.Now().Add(-25 * time.Hour)
	_, err = contract.Save(t.Context(), onejobtest.New(t, nil).Operator, passed)
	require.ErrorIs(t, err, contract.ErrOld)
	passed.At = time.Now().Add(-23 * time.Hour)
	q, err := contract.Save(t.Context(), onejobtest.New(t, nil).Operator, passed)
	require.NoError(t, err)
	require.InDelta(t, time.Hour, q.ExpiresAt.Sub(q.QualifiedAt), float64(time.Minute), "its time is from the runs")
}

// A failure that is too long to keep must not leave the proof before it.
func TestAFailureIsSavedHoweverLongItIs(t *testing.T) {
	t.Parallel()
	s, p := serve(t, "")
	env := onejobtest.New(t, nil)
	c := orderSum(t)
	r, err := c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	_, err = contract.Save(t.Context(), env.Operator, r)
	require.NoError(t, err)
	s.Lie("wraps")
	r, err = c.Qualify(t.Context(), p, nil)
	require.NoError(t, err)
	for i := range r.Failures {
		r.Failures[i].Detail = strings.Repeat("x", 2<<20)
	}
	q, err := contract.Save(t.Context(), env.Operator, r)
	require.NoError(t, err)
	require.Zero(t, q.Passes)
	require.NotEmpty(t, q.Evidence)
}

func TestAReportDoesNotDriveTerminals(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "")
	r, err := orderSum(t).Qualify(t.Context(), spoken{p}, nil)
	require.NoError(t, err)
	require.NotContains(t, r.String(), "\x1b")
	require.NotContains(t, r.String(), "\u009b")
}

type spoken struct{ provider.Provider }

func (s spoken) Call(context.Context, provider.Request) (provider.Reply, error) {
	return provider.Reply{Verdict: provider.Done, Output: []byte("\x1b[31mred\u009b")}, errors.New("\x1b]0;title")
}

func (s spoken) Unwrap() provider.Provider { return s.Provider }

// A panic of the host's own Progress reaches the host.
func TestAPanicOfProgressGoesOnInTheCaller(t *testing.T) {
	t.Parallel()
	_, p := serve(t, "")
	require.PanicsWithValue(t, "boom", func() {
		_, _ = orderSum(t).Qualify(t.Context(), p, &contract.QualifyOptions{Parallel: 4, Progress: func(contract.Progress) { panic("boom") }})
	})
}
