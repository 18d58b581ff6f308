package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/mutants"
)

func TestTheSwitchTakesMutantsThatChangeStatementsAlone(t *testing.T) {
	t.Parallel()
	const source = "package a\n\nconst a = `\nSELECT 1 FROM t`\n\nconst b = \"name\"\n\nfunc f() int { return 1 }\n\nfunc g() { f() }\n"
	for _, test := range []struct {
		edit       mutants.Edit
		statements []string
		bodies     map[string]map[int]string
	}{
		{mutants.Edit{File: "store_a.go", Old: "FROM t`", New: "FROM u`"}, []string{"\nSELECT 1 FROM t", "\nSELECT 1 FROM u"}, nil},
		{mutants.Edit{File: "store_a.go", Old: "name", New: "other"}, nil, nil},
		{mutants.Edit{File: "a.go", Old: "FROM t`", New: "FROM u`"}, nil, nil},
		{mutants.Edit{File: "a.go", Old: "return 1", New: "return 2"}, nil, map[string]map[int]string{"a.go": {2: " return 2 "}}},
		{mutants.Edit{File: "a.go", Old: "f() int", New: "f() int64"}, nil, nil},
	} {
		tr := &tree{t.TempDir(), map[string][]byte{}}
		require.NoError(t, os.WriteFile(filepath.Join(tr.dir, test.edit.File), []byte(source), 0o644))
		require.NoError(t, tr.plant([]mutants.Edit{test.edit}))
		c, ok := tr.changed()
		require.Equal(t, test.statements != nil || test.bodies != nil, ok)
		if ok {
			require.Equal(t, test.statements, c.statements)
			require.Len(t, c.bodies, len(test.bodies))
		}
		for file, bodies := range test.bodies {
			require.Equal(t, bodies, c.bodies[file])
		}
	}
}

func TestBodiesAreWovenBeforeThoseTheyReplace(t *testing.T) {
	t.Parallel()
	tr := &tree{t.TempDir(), map[string][]byte{}}
	path := filepath.Join(tr.dir, "a.go")
	require.NoError(t, os.WriteFile(path, []byte("package a\n\nfunc f() int { return 1 }\n\nfunc g() { f() }\n"), 0o644))
	require.NoError(t, tr.insert(map[string]change{"M1": {bodies: map[string]map[int]string{"a.go": {0: " return 2 ", 1: ""}}}}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "package a\n\nfunc f() int {\nif mutantID == \"M1\" { return 2 \n}\n return 1 }\n\n"+
		"func g() {\nif mutantID == \"M1\" {\nreturn\n}\n f() }\n", string(text))
}
