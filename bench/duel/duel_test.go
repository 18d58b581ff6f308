package duel

import "testing"

func TestEachSideIsFirstAsOftenAsAnyOther(t *testing.T) {
	for sides := 2; sides <= 5; sides++ {
		first := make([]int, sides)
		rounds := 4 * sides
		for round := range rounds {
			seen := map[int]bool{}
			for turn := range sides {
				seen[order(turn, round, sides)] = true
			}
			if len(seen) != sides {
				t.Fatalf("%d sides, round %d: somebody has no turn", sides, round)
			}
			first[order(0, round, sides)]++
		}
		for _, n := range first {
			if n != rounds/sides {
				t.Fatalf("%d sides: first %v", sides, first)
			}
		}
	}
}
