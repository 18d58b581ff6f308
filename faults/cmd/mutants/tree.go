package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onejob-go/onejob/faults/mutants"
)

// tree is a copy of the sources, with at most one mutant planted.
type tree struct {
	dir   string
	clean map[string][]byte // what was in the files that are edited now
}

// copyTree copies what git knows or would take, without the nested modules.
func copyTree(root, dir string) (*tree, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if strings.HasPrefix(name, "faults/") || strings.HasPrefix(name, "docs/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return nil, err
		}
	}
	return &tree{dir, map[string][]byte{}}, nil
}

// plant edits the files. A text that does not stand exactly once is an error:
// the mutant has rotted.
func (t *tree) plant(edits []mutants.Edit) error {
	for _, e := range edits {
		path := filepath.Join(t.dir, e.File)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte(e.Old)); n != 1 {
			return fmt.Errorf("%s: the text stands %d times: %.80q", e.File, n, e.Old)
		}
		if _, edited := t.clean[e.File]; !edited {
			t.clean[e.File] = text
		}
		text = bytes.Replace(text, []byte(e.Old), []byte(e.New), 1)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// restore takes the mutant out.
func (t *tree) restore() error {
	for name, text := range t.clean {
		if err := os.WriteFile(filepath.Join(t.dir, name), text, 0o644); err != nil {
			return err
		}
	}
	clear(t.clean)
	return nil
}
