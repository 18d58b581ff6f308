package main

import (
	"fmt"
	"slices"
)

// match is a duel of several sides, and what its ratios should be.
type match struct {
	name    string
	callers int
	sides   []string
	goals   []goal
	ops     int // of each side in each round, where it is counted
	longer  int // a round is so many times longer; 0: once
}

func (m match) title() string {
	if m.callers == 1 {
		return m.name + ", 1 caller"
	}
	return fmt.Sprintf("%s, %d callers", m.name, m.callers)
}

// goal is a ratio inside the rounds.
type goal struct {
	a, b  string
	least float64
	tell  bool    // in the summary, though there is no goal
	p99   float64 // a's p99 is at most so much of b's; 0: not looked at
}

// matches are the figures that are promised. The sides are those of
// (*field).sides.
func matches() []match {
	var list []match
	for _, n := range []int{1, 32} {
		list = append(list, match{"noise: the same by the same hand", n, []string{"pg Create by hand", "pg Create by the same hand"},
			[]goal{{a: "pg Create by hand", b: "pg Create by the same hand"}}, 0, 0})
	}
	for _, n := range []int{1, 32} {
		naive := 1.5
		if n > 1 {
			naive = 2.1
		}
		list = append(list,
			match{"Create", n, []string{"pg Create", "pg the same Create", "pg Create naive"},
				[]goal{{a: "pg Create", b: "pg the same Create", least: 0.97}, {a: "pg Create", b: "pg Create naive"}}, 0, 0},
			match{"BeginAttempt", n, []string{"pg BeginAttempt", "pg the same BeginAttempt", "pg BeginAttempt by hand"},
				[]goal{{a: "pg BeginAttempt", b: "pg the same BeginAttempt", least: 0.97}, {a: "pg BeginAttempt", b: "pg BeginAttempt by hand"}}, 0, 0},
			match{"Complete", n, []string{"pg Complete", "pg the same Complete", "pg Complete by hand"},
				[]goal{{a: "pg Complete", b: "pg the same Complete", least: 0.97}, {a: "pg Complete", b: "pg Complete by hand"}}, 0, 0},
			match{"Start + Complete", n, []string{"pg Start + Complete", "pg the same Start + Complete", "pg Start + Complete by hand", "pg two bare commits"},
				[]goal{{a: "pg Start + Complete", b: "pg the same Start + Complete", least: 0.95}, {a: "pg Start + Complete", b: "pg Start + Complete by hand", tell: true}, {a: "pg Start + Complete", b: "pg two bare commits", tell: true}}, 0, 0},
			match{"three calls", n, []string{"pg three calls", "pg three transactions"},
				[]goal{{a: "pg three calls", b: "pg three transactions", least: naive}}, 0, 0},
			match{"OnComplete", n, []string{"pg Start + Complete with OnComplete", "pg the same transaction", "pg the same transaction by hand"},
				[]goal{{a: "pg Start + Complete with OnComplete", b: "pg the same transaction", least: 0.95}, {a: "pg Start + Complete with OnComplete", b: "pg the same transaction by hand"}}, 0, 0},
		)
	}
	list = append(list,
		match{"a refusal", 32, []string{"pg refused BeginAttempt", "pg BeginAttempt by hand"},
			[]goal{{a: "pg refused BeginAttempt", b: "pg BeginAttempt by hand"}}, 0, 0},
		// 11 rounds that count and one for warming up: 10,000 storms.
		match{"64 Creates of one new key", 1, []string{"pg storm", "pg storm by hand"},
			[]goal{{a: "pg storm", b: "pg storm by hand", least: 1 / 1.1}}, 834, 0})
	return slices.Concat(list, peerMatches(), liteMatches(), httpMatches(), watcherMatches())
}

func peerMatches() []match {
	return []match{
		// Three seconds a round: a caller waits a quarter of a second for his job.
		{"River", 32, []string{"pg Start + Complete", "River", "River, 2,000 workers", "River (database/sql)"},
			[]goal{{a: "pg Start + Complete", b: "River", least: 4.5}, {a: "pg Start + Complete", b: "River, 2,000 workers", least: 2.5}, {a: "pg Start + Complete", b: "River (database/sql)"}}, 0, 15},
		// A second a round, of which the last jobs' end takes a tenth.
		{"River with 2,000 jobs in flight", 32, []string{"pg Start + Complete", "River, 2,000 in flight", "River, 2,000 workers, 2,000 in flight"},
			[]goal{{a: "pg Start + Complete", b: "River, 2,000 in flight", least: 4.5}, {a: "pg Start + Complete", b: "River, 2,000 workers, 2,000 in flight", least: 2.5}}, 0, 5},
		{"DBOS", 1, []string{"pg Start + Complete", "DBOS"}, []goal{{a: "pg Start + Complete", b: "DBOS", least: 3}}, 0, 0},
		{"DBOS", 32, []string{"pg Start + Complete", "DBOS"}, []goal{{a: "pg Start + Complete", b: "DBOS", least: 4}}, 0, 0},
		{"one hot key", 32, []string{"pg duplicate Create", "River unique, one key", "DBOS, a finished ID"},
			[]goal{{a: "pg duplicate Create", b: "River unique, one key", least: 15}, {a: "pg duplicate Create", b: "DBOS, a finished ID", least: 15}}, 0, 0},
		{"insert", 32, []string{"pg Create", "River insert (pgx)", "River insert (database/sql)", "River unique insert", "River unique insert (database/sql)"},
			[]goal{{a: "pg Create", b: "River insert (pgx)"}, {a: "pg Create", b: "River insert (database/sql)"}, {a: "pg Create", b: "River unique insert"}, {a: "pg Create", b: "River unique insert (database/sql)"}}, 0, 0},
		{"CreateMany(100)", 1, []string{"pg CreateMany(100)", "pg 100 Creates"},
			[]goal{{a: "pg CreateMany(100)", b: "pg 100 Creates", least: 8}}, 0, 0},
		{"1 ms added to each round trip", 1, []string{"slow Start + Complete", "slow three transactions"},
			[]goal{{a: "slow Start + Complete", b: "slow three transactions", least: 5}}, 0, 0},
	}
}

func liteMatches() (list []match) {
	for i, n := range []int{1, 8, 64} {
		least := []float64{1, 4, 10}[i]
		list = append(list, match{"SQLite Create", n, []string{"lite Create", "lite Create per call"},
			[]goal{{a: "lite Create", b: "lite Create per call", least: least}}, 0, 0})
	}
	return append(list,
		match{"SQLite cycle", 1, []string{"lite Start + Complete", "lite three calls per call", "lite two calls per call"},
			[]goal{{a: "lite Start + Complete", b: "lite three calls per call"}, {a: "lite Start + Complete", b: "lite two calls per call"}}, 0, 0},
		match{"SQLite cycle", 64, []string{"lite Start + Complete", "lite three calls per call", "goqite"},
			[]goal{{a: "lite Start + Complete", b: "lite three calls per call", least: 10, p99: 0.125}, {a: "lite Start + Complete", b: "goqite", least: 8}}, 0, 0},
		match{"SQLite, FULL against NORMAL", 64, []string{"lite Start + Complete", "lite two calls per call, NORMAL"},
			[]goal{{a: "lite Start + Complete", b: "lite two calls per call, NORMAL", least: 1.3}}, 0, 0},
	)
}
