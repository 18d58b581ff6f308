package upgrade_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
)

// mixed is a deployment half-way through: both programs serve one database, which
// the new one has migrated.
type mixed struct {
	place
	old, new *process
}

// programs are both, so that each may come first.
func (m mixed) programs() map[string][2]*process {
	return map[string][2]*process{"old, then new": {m.old, m.new}, "new, then old": {m.new, m.old}}
}

func onMixed(t *testing.T, run func(t *testing.T, m mixed)) {
	t.Helper()
	onEachRelease(t, func(t *testing.T, r *release) {
		onBoth(t, func(t *testing.T, p place) {
			m := mixed{place: p, new: presentOn(t, p.address), old: r.on(t, p.address)}
			m.new.does("migrate", worker.Order{})
			run(t, m)
			p.check(t)
		})
	})
}

func intent(key string) onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key, Kind: "charge", Params: []byte(`{"amount":1200}`)}
}

// both has each program given the order n times, all at once.
func (m mixed) both(t *testing.T, n int, do string, order func(i int) worker.Order) []worker.Answer {
	t.Helper()
	answers := make([]<-chan worker.Answer, 0, 2*n)
	for i := range n {
		answers = append(answers, m.old.send(do, order(2*i)), m.new.send(do, order(2*i+1)))
	}
	list := make([]worker.Answer, len(answers))
	for i, c := range answers {
		a, ok := <-c
		require.True(t, ok, "a worker ended")
		list[i] = a
	}
	return list
}

func TestAClickOnBothProgramsIsOneJob(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for round := range 20 {
			ids, made := map[onejob.JobID]bool{}, 0
			for _, a := range m.both(t, 4, "create", func(int) worker.Order {
				return worker.Order{Intent: intent(fmt.Sprint("key-", round))}
			}) {
				require.Empty(t, a.Text)
				ids[a.Job] = true
				if a.Created {
					made++
				}
			}
			require.Len(t, ids, 1)
			require.Equal(t, 1, made)
		}
	})
}

func TestOfAttemptsThatBothProgramsBeginOneIsOpen(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for round := range 20 {
			in := intent(fmt.Sprint("key-", round))
			do := "start"
			if round%2 == 0 {
				m.old.does("create", worker.Order{Intent: in})
				do = "begin"
			}
			var begun []worker.Answer
			for _, a := range m.both(t, 3, do, func(i int) worker.Order {
				return worker.Order{Intent: in, Provider: fmt.Sprint("provider-", i)}
			}) {
				if a.Text == "" {
					begun = append(begun, a)
				} else {
					require.Equal(t, onejob.ErrAttemptOpen.Error(), a.Refused)
				}
			}
			require.Len(t, begun, 1)
		}
	})
}

func TestOfResultsThatBothProgramsBringOneWins(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for name, p := range m.programs() {
			for round := range 10 {
				in := intent(fmt.Sprint(name, round))
				first := p[0].does("start", worker.Order{Intent: in, Provider: "primary"})
				p[1].does("detach", worker.Order{Attempt: first.Attempt})
				second := p[1].does("begin", worker.Order{Intent: in, Provider: "fallback"})
				one := p[0].send("complete", worker.Order{Attempt: first.Attempt, Result: "the primary's"})
				two := p[1].send("complete", worker.Order{Attempt: second.Attempt, Result: "the fallback's"})
				a, b := <-one, <-two
				if a.Text != "" {
					a, b = b, a
				}
				require.Empty(t, a.Text)
				require.Equal(t, onejob.ErrLateResult.Error(), b.Refused)
				for _, reader := range p {
					require.Equal(t, a.Result, reader.does("get", worker.Order{Intent: in}).Result)
				}
			}
		}
	})
}

func TestAProviderIsCalledOnceHoweverManyProgramsAreAsked(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for round := range 15 {
			in, calls, results := intent(fmt.Sprint("key-", round)), 0, map[string]bool{}
			for _, a := range m.both(t, 3, "do", func(i int) worker.Order {
				return worker.Order{Intent: in, Provider: "primary", Result: fmt.Sprint("result ", i)}
			}) {
				calls += a.Calls
				if a.Text == "" {
					results[a.Result] = true
				} else {
					require.Equal(t, onejob.ErrAttemptOpen.Error(), a.Refused)
				}
			}
			require.Equal(t, 1, calls)
			require.Len(t, results, 1)
		}
	})
}

// What one program began, the other can end in every way, and repeat.
func TestOneProgramEndsWhatTheOtherBegan(t *testing.T) {
	t.Parallel()
	onMixed(t, func(t *testing.T, m mixed) {
		for name, p := range m.programs() {
			in := intent(name)
			began := p[0].does("start", worker.Order{Intent: in, Provider: "primary"})
			again := p[1].does("begin", worker.Order{Intent: in, Provider: "primary", Attempt: began.Attempt})
			require.Equal(t, began.ProviderKey, again.ProviderKey)
			require.Equal(t, onejob.StatusUnknown, p[1].does("doubt", worker.Order{Attempt: began.Attempt}).Status)
			a := p[0].ask("begin", worker.Order{Intent: in, Provider: "fallback"})
			require.Equal(t, onejob.ErrInDoubt.Error(), a.Refused)
			p[1].does("refer", worker.Order{Attempt: began.Attempt, Result: "ch_1"})
			require.Equal(t, onejob.StatusPending, p[1].does("fail", worker.Order{Attempt: began.Attempt}).Status)

			next := p[1].does("begin", worker.Order{Intent: in, Provider: "primary"})
			won := worker.Order{Attempt: next.Attempt, Result: "result"}
			require.Equal(t, onejob.StatusCompleted, p[0].does("complete", won).Status)
			require.Equal(t, "result", p[1].does("complete", won).Result)
			won.Result = "another"
			require.Equal(t, onejob.ErrResultMismatch.Error(), p[1].ask("complete", won).Refused)

			canceled := intent(name + " canceled")
			p[1].does("cancel", worker.Order{Job: p[0].does("create", worker.Order{Intent: canceled}).Job})
			a = p[0].ask("start", worker.Order{Intent: canceled, Provider: "primary"})
			require.Equal(t, onejob.ErrJobCanceled.Error(), a.Refused)

			for _, reader := range p {
				reader.does("sweep", worker.Order{})
				reader.does("purge", worker.Order{Limit: 100})
				a = reader.ask("create", worker.Order{Intent: in})
				require.Equal(t, onejob.ErrKeyRetired.Error(), a.Refused)
			}
		}
	})
}
