package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// checker tells in a moment whether the root package of a tree compiles.
type checker struct{ exports map[string]string }

func newChecker(ctx context.Context, dir string) (*checker, error) {
	list := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Export", ".")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	c := &checker{map[string]string{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); err == io.EOF {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		c.exports[p.ImportPath] = p.Export
	}
}

// check type-checks the files of the root package.
func (c *checker) check(t *tree) error {
	fset := token.NewFileSet()
	packages, err := filepath.Glob(filepath.Join(t.dir, "*.go"))
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, path := range packages {
		if ok, _ := filepath.Match("*_test.go", filepath.Base(path)); ok {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if c.exports[path] == "" {
			return nil, errors.New("not imported by the clean tree: " + path)
		}
		return os.Open(c.exports[path])
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	_, err = conf.Check("github.com/onejob-go/onejob", fset, files, nil)
	return err
}

// build compiles the tests of the root package.
func (t *tree) build(ctx context.Context, binary string) error {
	// Without -s -w and vet it would take half as long again.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Dir = t.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}
