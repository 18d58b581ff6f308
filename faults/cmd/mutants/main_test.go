package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/mutants"
)

func TestAMutantThatHasRottenDoesNotApply(t *testing.T) {
	t.Parallel()
	tr := &tree{t.TempDir(), map[string][]byte{}}
	path := filepath.Join(tr.dir, "a.go")
	require.NoError(t, os.WriteFile(path, []byte("one two two"), 0o644))
	require.NoError(t, tr.plant([]mutants.Edit{{File: "a.go", Old: "one", New: "1"}, {File: "a.go", Old: "1 two", New: "2"}}))
	require.ErrorContains(t, tr.plant([]mutants.Edit{{File: "a.go", Old: "three", New: ""}}), "stands 0 times")
	require.NoError(t, tr.restore())
	require.ErrorContains(t, tr.plant([]mutants.Edit{{File: "a.go", Old: "two", New: ""}}), "stands 2 times")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one two two", string(text))
}

func TestTheCulpritIsTheInnermostTest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=== RUN   TestA/b/c\n--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/b (0.00s)\n        --- FAIL: TestA/b/c (0.00s)\n": "TestA/b/c",
		"=== RUN   TestA\npanic: assignment to entry in nil map\n":                                                           "TestA, which panics",
		"panic: test timed out after 2m0s\n\trunning tests:\n\t\tTestA (2m0s)\n\t\tTestA/b (2m0s)\n":                         "TestA/b, which hangs",
		"exit status 2\n": "a run that ends with an error",
	} {
		require.Equal(t, want, culprit(text))
	}
}

func TestASuiteMustHoldATestAsDeepAsItsName(t *testing.T) {
	t.Parallel()
	runs := []string{"TestA", "TestA/b"}
	require.True(t, deepEnough(runs, "^TestA$/^b$"))
	require.False(t, deepEnough(runs, "^TestA$/^b$/^c$"))
}
