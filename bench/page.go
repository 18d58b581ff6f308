package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const beginMark, endMark = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"

const (
	goalsHead  = "| figure | goal | measured | |\n|---|---|---|---|\n"
	allHead    = "\n## All of it\n"
	titleBegin = "\n### "
)

// measured is what stands between a page's marks: it has a row for each goal,
// and a section for each match.
type measured struct{ goals, sections []string }

func parseMeasured(text string) (m measured) {
	goals, all, _ := strings.Cut(text, allHead)
	for line := range strings.Lines(goals) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(goalsHead, line) {
			m.goals = append(m.goals, strings.TrimSpace(line))
		}
	}
	for i, section := range strings.Split(strings.TrimRight(all, "\n"), titleBegin) {
		if i > 0 {
			m.sections = append(m.sections, section)
		}
	}
	return m
}

// with puts what was measured now in the place of what was measured before of
// the same matches.
func (m measured) with(now measured) measured {
	return measured{
		replace(m.goals, now.goals, func(row string) string { return strings.Split(row, " | ")[0] }),
		replace(m.sections, now.sections, func(s string) string { title, _, _ := strings.Cut(s, "\n"); return title }),
	}
}

func replace(list, now []string, key func(string) string) []string {
	list = slices.Clone(list)
	for _, s := range now {
		i := slices.IndexFunc(list, func(old string) bool { return key(old) == key(s) })
		if i < 0 {
			list = append(list, s)
		} else {
			list[i] = s
		}
	}
	return list
}

func (m measured) String() string {
	var b strings.Builder
	b.WriteString("\n" + goalsHead + strings.Join(m.goals, "\n") + "\n" + allHead)
	for _, s := range m.sections {
		b.WriteString(titleBegin + strings.TrimRight(s, "\n") + "\n")
	}
	return b.String() + "\n"
}

// writePage writes what was measured into a page.
func writePage(file string, now measured) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), beginMark)
	old, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks", file)
	}
	return os.WriteFile(file, []byte(before+beginMark+parseMeasured(old).with(now).String()+endMark+after), 0o644)
}

// writeStored adds what was measured to a file.
func writeStored(file string, now map[string]stored) error {
	all, err := load(file)
	if errors.Is(err, fs.ErrNotExist) {
		all, err = map[string]stored{}, nil
	}
	if err != nil {
		return err
	}
	for title, s := range now {
		all[title] = s
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
