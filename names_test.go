package onejob_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// parseSources returns the non-test files of a directory, by name.
func parseSources(t *testing.T, fset *token.FileSet, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files[name], err = parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
	}
	require.NotEmpty(t, files)
	return files
}

// rootDoc is the documentation of the root package, exported names only.
func rootDoc(t *testing.T) *doc.Package { return docOf(t, ".") }

func docOf(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range parseSources(t, fset, dir) {
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, path.Join(ourModule, dir))
	require.NoError(t, err)
	return p
}

// Every exported name is something to learn and something that cannot be taken
// back.
func TestTheRootPackageStaysSmall(t *testing.T) {
	t.Parallel()
	p := rootDoc(t)
	names := exportedNames(p)
	t.Logf("%d exported names", len(names))
	require.LessOrEqual(t, len(names), 84, "%s", strings.Join(names, " "))
	require.Greater(t, len(names), 40, "names were not found")
}

// exportedNames are the types, functions, constants and variables of p.
func exportedNames(p *doc.Package) []string {
	var names []string
	for _, v := range values(p) {
		names = append(names, exportedOf(v)...)
	}
	for _, f := range p.Funcs {
		names = append(names, f.Name)
	}
	for _, typ := range p.Types {
		names = append(names, typ.Name)
		for _, f := range typ.Funcs {
			names = append(names, f.Name)
		}
	}
	return names
}

// values are the groups of constants and variables, also those that go/doc
// files under a type.
func values(p *doc.Package) []*doc.Value {
	all := append(append([]*doc.Value{}, p.Consts...), p.Vars...)
	for _, typ := range p.Types {
		all = append(append(all, typ.Consts...), typ.Vars...)
	}
	return all
}

func exportedOf(v *doc.Value) []string {
	var names []string
	for _, name := range v.Names {
		if ast.IsExported(name) {
			names = append(names, name)
		}
	}
	return names
}

// publicPackages are those that hosts import, and their tests.
var publicPackages = []string{".", "pgdial", "onejobtest", "storetest", "provider", "provider/wire", "provider/chat",
	"provider/chat/chattest", "contract", "failover", "idempotency", "pgnotify", "maintenance"}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	for _, dir := range publicPackages {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			requireDocumented(t, docOf(t, dir))
		})
	}
}

func requireDocumented(t *testing.T, p *doc.Package) {
	t.Helper()
	require.NotEmpty(t, p.Doc, "the package")
	documented := func(f *doc.Func, owner string) {
		require.NotEmpty(t, f.Doc, owner+f.Name)
		require.Regexp(t, `^(Deprecated: )?`+f.Name+`\b`, f.Doc, "the sentence begins with the name")
	}
	for _, f := range p.Funcs {
		documented(f, "")
	}
	for _, typ := range p.Types {
		require.NotEmpty(t, typ.Doc, typ.Name)
		require.Regexp(t, `^(An? )?`+typ.Name+`\b`, typ.Doc)
		for _, f := range typ.Funcs {
			documented(f, "")
		}
		for _, m := range typ.Methods {
			documented(m, typ.Name+".")
		}
		requireMethodsDocumented(t, typ)
	}
	for _, v := range values(p) {
		for _, spec := range v.Decl.Specs {
			s := spec.(*ast.ValueSpec)
			for _, name := range s.Names {
				if name.IsExported() {
					text := s.Doc.Text() + s.Comment.Text()
					if len(v.Decl.Specs) == 1 {
						text += v.Doc
					}
					require.NotEmpty(t, text, name.Name)
				}
			}
		}
	}
}

// requireMethodsDocumented looks at an interface: what a store must do stands
// on its methods.
func requireMethodsDocumented(t *testing.T, typ *doc.Type) {
	t.Helper()
	for _, spec := range typ.Decl.Specs {
		i, ok := spec.(*ast.TypeSpec).Type.(*ast.InterfaceType)
		if !ok || typ.Name == "Tx" { // its methods are database/sql's
			continue
		}
		require.LessOrEqual(t, i.Methods.NumFields(), 8, "%s: nobody implements a large interface", typ.Name)
		lines := 0
		for _, m := range i.Methods.List {
			lines += len(m.Doc.Text())
		}
		require.Positive(t, lines, typ.Name)
	}
}

// A file over 500 lines holds two things.
func TestNoSourceFileIsLong(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), 500, path)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 30, "files were not found")
}
