package mutants_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/mutants"
)

func TestEachMutantOfTheDesignIsPlantedOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	whole := regexp.MustCompile(`^M\d+`)
	for _, m := range mutants.All() {
		found[whole.FindString(m.ID)] = true
	}
	for n := 1; n <= 28; n++ {
		require.True(t, found[fmt.Sprint("M", n)], "M%d", n)
	}
}

func TestEachMutantIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range mutants.All() {
		require.False(t, seen[m.ID], "%s stands twice", m.ID)
		seen[m.ID] = true
		require.NotEmpty(t, m.What, m.ID)
		require.Equal(t, m.Later != "", len(m.Plants) == 0, m.ID)
		stores := map[string]bool{}
		for _, p := range m.Plants {
			require.False(t, stores[p.Where], "%s is planted twice on %s", m.ID, p.Where)
			stores[p.Where] = true
			require.NotEmpty(t, p.Edits, m.ID)
			require.Equal(t, m.Equivalent == "", p.Suite != "", "%s needs either a suite or a reason", m.ID)
			_, err := regexp.Compile(p.Suite)
			require.NoError(t, err)
			for _, e := range p.Edits {
				require.NotEqual(t, e.Old, e.New, m.ID)
			}
		}
	}
}
