package main

import (
	"fmt"
	"strings"
)

type migrateDown struct {
	To  *int `placeholder:"VERSION" help:"The version to go back to. Required; 0 removes all tables AND ALL JOBS."`
	Yes bool `help:"Required: this loses data."`
}

// Run goes back. It never asks: who takes tables away has to write it down.
func (c *migrateDown) Run(a *app) error {
	if c.To == nil {
		return usage("--to VERSION is required: the version to go back to, 0 for none at all")
	}
	if *c.To < 0 {
		return usage("--to must not be negative")
	}
	return a.with(migrates, func(s *session) error {
		have, err := s.database.version(s.ctx)
		if err != nil {
			return err
		}
		switch need := s.need(); {
		case have > need:
			return fail(exitFailed, "%s: at version %d, and this program knows only %d: go back with the onejob that brought it there", s.where, have, need)
		case *c.To >= have:
			return usage("--to %d: the schema is at version %d already", *c.To, have)
		}
		lost, err := s.lost(have, *c.To)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fail(exitNotConfirmed, "this loses %s: add --yes if that is what you want. Nothing was done", lost)
		}
		s.note("%s: from version %d to %d loses %s", s.where, have, *c.To, lost)
		if err := s.MigrateTo(s.ctx, *c.To); err != nil {
			return err
		}
		doc := struct {
			Before int `json:"before"`
			Have   int `json:"have"`
			Need   int `json:"need"`
		}{have, *c.To, s.need()}
		return s.tell(doc, func() { s.say("%s: from version %d to %d", s.where, have, *c.To) })
	})
}

// lost says which tables go, and how many rows with them.
func (s *session) lost(have, to int) (string, error) {
	var parts []string
	for _, table := range drops(migrationFiles(s.database.store), have, to) {
		n, err := s.rows(s.ctx, table)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%s with %s", strings.ReplaceAll(table, `"`, ""), count(n, "row")))
	}
	if len(parts) == 0 {
		return "no table, but what later versions keep in the others", nil
	}
	return strings.Join(parts, ", "), nil
}
