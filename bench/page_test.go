package main

import (
	"strings"
	"testing"
)

func TestWhatIsMeasuredAgainTakesTheOldOnesPlace(t *testing.T) {
	old := measured{
		goals:    []string{"| a: x against y | ≥ 1 | 2.00 | met |", "| b: x | ≥ 1 | 0.50 | **missed** |"},
		sections: []string{"a\n\n| side |\n", "b\n\n- x\n"},
	}
	again := parseMeasured(old.String())
	if again.String() != old.String() {
		t.Fatalf("%q became %q", old, again)
	}
	now := again.with(measured{
		goals:    []string{"| b: x | ≥ 1 | 3.00 | met |", "| c: x | ≥ 1 | 4.00 | met |"},
		sections: []string{"b\n\n- z\n", "c\n\n- w\n"},
	}).String()
	for text, times := range map[string]int{
		"2.00": 1, "0.50": 0, "3.00": 1, "4.00": 1, "| figure |": 1, "\n### a\n": 1, "\n### b\n": 1, "\n### c\n": 1, "- x\n": 0, "- z\n": 1, "- w\n": 1,
	} {
		if got := strings.Count(now, text); got != times {
			t.Errorf("%q stands %d times, not %d, in\n%s", text, got, times, now)
		}
	}
}
