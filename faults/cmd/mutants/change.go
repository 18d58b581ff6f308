package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// change is what a planted mutant changed, as far as a switch can do it.
type change struct {
	bodies     map[string]map[int]string // file → declaration → what stands in the braces
	statements []string                  // old and new in turn
}

// changed compares what is planted with the clean files. It reports false
// where a switch does not reach.
func (t *tree) changed() (c change, ok bool) {
	c.bodies = map[string]map[int]string{}
	for name, clean := range t.clean {
		planted, err := os.ReadFile(filepath.Join(t.dir, name))
		if err != nil || filepath.Ext(name) != ".go" {
			return c, false
		}
		if !c.compare(name, clean, planted) {
			return c, false
		}
	}
	return c, true
}

func (c *change) compare(name string, clean, planted []byte) bool {
	old, oldErr := declarations(clean)
	now, nowErr := declarations(planted)
	if oldErr != nil || nowErr != nil || len(old) != len(now) {
		return false
	}
	for i, was := range old {
		is := now[i]
		switch {
		case was.text == is.text:
		case was.body && is.body && was.head == is.head:
			if c.bodies[name] == nil {
				c.bodies[name] = map[int]string{}
			}
			c.bodies[name][i] = is.inner
		case strings.HasPrefix(name, "store_") && !was.body:
			pairs, ok := statementsOf(was.text, is.text)
			if !ok {
				return false
			}
			c.statements = append(c.statements, pairs...)
		default:
			return false
		}
	}
	return true
}

// declaration is one at the top level; a function has a body.
type declaration struct {
	text, head, inner string
	body, results     bool
	brace             int // where the inner text begins
}

func declarations(source []byte) ([]declaration, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var list []declaration
	for _, d := range file.Decls {
		x := declaration{text: string(source[at(d.Pos()):at(d.End())])}
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			x.body, x.results, x.brace = true, f.Type.Results != nil, at(f.Body.Lbrace)+1
			x.head = string(source[at(d.Pos()):x.brace])
			x.inner = string(source[x.brace:at(f.Body.Rbrace)])
		}
		list = append(list, x)
	}
	return list, nil
}

// statementsOf returns the texts that differ, if no more than texts do, and
// only such as are of more than one line: a name is no statement.
func statementsOf(clean, planted string) (pairs []string, ok bool) {
	cleanRest, cleanTexts := literals("package a\n" + clean)
	plantedRest, plantedTexts := literals("package a\n" + planted)
	if cleanRest == "" || cleanRest != plantedRest || len(cleanTexts) != len(plantedTexts) {
		return nil, false
	}
	for i, text := range cleanTexts {
		if text == plantedTexts[i] {
			continue
		}
		if !strings.Contains(text, "\n") {
			return nil, false
		}
		pairs = append(pairs, text, plantedTexts[i])
	}
	return pairs, true
}

// literals takes the string literals out of a source file.
func literals(source string) (rest string, texts []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return "", nil
	}
	var b strings.Builder
	from := 0
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		at := fset.Position(lit.Pos()).Offset
		b.WriteString(source[from:at])
		from = at + len(lit.Value)
		texts = append(texts, text)
		return true
	})
	b.WriteString(source[from:])
	return b.String(), texts
}
