package main

import (
	"slices"
	"strings"

	"github.com/onejob-go/onejob"
)

type doctorCmd struct{}

// Help is shown by --help.
func (doctorCmd) Help() string {
	return "What it sees is the server, the schema, and what this DSN's role is given. Give it the DSN of the service: settings may differ by role. The service's own pool, and on SQLite the settings of its own connections, it cannot see: have the service call Operator.Doctor at its start."
}

type findingView struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Breaks  bool   `json:"breaks"`
	Advice  string `json:"advice"`
}

// Run inspects.
func (doctorCmd) Run(a *app) error {
	return a.with(inspects, func(s *session) error {
		findings, err := s.operator.Doctor(s.ctx)
		if err != nil {
			return err
		}
		views := []findingView{}
		breaks := 0
		for _, f := range findings {
			if f.Breaks {
				breaks++
			}
			views = append(views, findingView{f.Setting, f.Value, f.Breaks, inCommands(f)})
		}
		slices.SortStableFunc(views, func(a, b findingView) int { return rank(a) - rank(b) })
		doc := struct {
			Findings []findingView `json:"findings"`
		}{views}
		if err := s.tell(doc, func() { s.showFindings(views) }); err != nil {
			return err
		}
		if breaks > 0 {
			return fail(exitDoctor, "%s the promise", map[bool]string{true: "1 setting breaks", false: count(breaks, "setting") + " break"}[breaks == 1])
		}
		return nil
	})
}

func rank(f findingView) int {
	if f.Breaks {
		return 0
	}
	return 1
}

// inCommands says what to run here, where the library says what to call.
func inCommands(f onejob.Finding) string {
	return strings.ReplaceAll(f.Advice, "run Migrate", `run "onejob migrate up"`)
}

func (s *session) showFindings(views []findingView) {
	s.say("%s", s.where)
	if len(views) == 0 {
		s.say("all is well, as far as can be seen from here")
		return
	}
	t := &table{head: []string{"", "SETTING", "VALUE"}}
	for _, f := range views {
		mark := "costs"
		if f.Breaks {
			mark = "BREAKS"
		}
		value := f.Value
		if value == "" {
			value = `""`
		}
		t.add([]string{mark, f.Setting, safe(value)}, f.Advice)
	}
	t.print(s.stdout)
}
