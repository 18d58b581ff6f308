package upgrade_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// populatePurged leaves jobs that were purged: the first of all, for they are
// purged by age.
func populatePurged(p *process) {
	for i := range 3 {
		in := intent(fmt.Sprint("purged ", i))
		won := p.does("start", worker.Order{Intent: in, Provider: "primary"})
		p.does("complete", worker.Order{Attempt: won.Attempt, Result: "dropped"})
	}
	p.does("purge", worker.Order{Limit: 3})
}

// populate leaves a row of every other kind that there is.
func populate(p *process, round string) {
	start := func(key string) worker.Answer {
		return p.does("start", worker.Order{Intent: intent(round + key), Provider: "primary"})
	}
	begin := func(key string) worker.Answer {
		return p.does("begin", worker.Order{Intent: intent(round + key), Provider: "fallback"})
	}
	p.does("create", worker.Order{Intent: intent(round + "pending")})
	start("started")
	p.does("doubt", worker.Order{Attempt: start("unknown").Attempt})
	p.does("fail", worker.Order{Attempt: start("failed").Attempt})
	p.does("refer", worker.Order{Attempt: start("referred").Attempt, Result: "ch_1"})
	p.does("complete", worker.Order{Attempt: start("won").Attempt, Result: "result"})
	p.does("complete", worker.Order{Attempt: start("won by nothing").Attempt})
	p.does("cancel", worker.Order{Job: start("canceled").Job})
	first := start("late")
	p.does("detach", worker.Order{Attempt: first.Attempt})
	p.does("complete", worker.Order{Attempt: begin("late").Attempt, Result: "the fallback's"})
	late := p.ask("complete", worker.Order{Attempt: first.Attempt, Result: "the primary's"})
	require.Equal(p.t, onejob.ErrLateResult.Error(), late.Refused)
	p.does("qualify", worker.Order{Provider: round + "primary"})
}

// requireAll looks at what populate has left, through a program's eyes, and goes
// on with it.
func requireAll(t *testing.T, p *process, round string) {
	t.Helper()
	get := func(key string) worker.Answer { return p.does("get", worker.Order{Intent: intent(round + key)}) }
	for key, status := range map[string]onejob.Status{
		"pending": onejob.StatusPending, "started": onejob.StatusRunning,
		"unknown": onejob.StatusUnknown, "failed": onejob.StatusPending, "won": onejob.StatusCompleted,
		"canceled": onejob.StatusCanceled, "late": onejob.StatusCompleted,
	} {
		require.Equal(t, status, get(key).Status, key)
	}
	require.Equal(t, "result", get("won").Result)
	require.Equal(t, "the fallback's", get("late").Result)
	a := p.ask("start", worker.Order{Intent: intent(round + "unknown"), Provider: "fallback"})
	require.Equal(t, onejob.ErrInDoubt.Error(), a.Refused)
	a = p.ask("create", worker.Order{Intent: intent("purged 0")})
	require.Equal(t, onejob.ErrKeyRetired.Error(), a.Refused)
}
