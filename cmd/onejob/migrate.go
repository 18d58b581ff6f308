package main

import (
	"context"
	"database/sql"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/onejob-go/onejob"
)

type migrateCmd struct {
	Up     migrateUp     `cmd:"" help:"Bring the schema to the version that this program needs. Makes a file of SQLite that does not exist."`
	Down   migrateDown   `cmd:"" help:"Bring the schema back to a version. LOSES what later versions hold; 0 loses all jobs."`
	Status migrateStatus `cmd:"" help:"Tell which version is there, which is needed, and what to run."`
	Print  migratePrint  `cmd:"" help:"Print the SQL, for somebody else to run. Needs no connection."`
}

// migrationFile is one version's SQL.
type migrationFile struct {
	version  int
	name     string
	up, down string
}

// migrationFiles are those that this program knows, in order.
func migrationFiles(s store) []migrationFile {
	all := s.Migrations()
	ups, _ := fs.Glob(all, "migrate/*.up.sql")
	list := make([]migrationFile, len(ups))
	for i, name := range ups {
		base := strings.TrimSuffix(name, ".up.sql")
		up, _ := fs.ReadFile(all, name)
		down, _ := fs.ReadFile(all, base+".down.sql")
		list[i] = migrationFile{i + 1, strings.TrimPrefix(base, "migrate/"), string(up), string(down)}
	}
	return list
}

var dropped = regexp.MustCompile(`(?m)^DROP TABLE (\S+);`)

// drops are the tables that go with the versions above to, but for the one of
// versions.
func drops(files []migrationFile, have, to int) []string {
	var tables []string
	for i := min(have, len(files)) - 1; i >= to; i-- {
		for _, m := range dropped.FindAllStringSubmatch(files[i].down, -1) {
			if !strings.HasSuffix(m[1], "migrations") {
				tables = append(tables, m[1])
			}
		}
	}
	return tables
}

// offline is a store that never connects, for its names and migrations.
func (g *globals) offline(kind string) (store, error) {
	if err := g.fits(kind); err != nil {
		return nil, err
	}
	if kind == sqlite {
		db, err := sql.Open("sqlite", ":memory:")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return onejob.NewSQLiteStore(db, &onejob.SQLiteOptions{Prefix: string(g.Prefix)})
	}
	db, err := sql.Open("postgres", "postgres://")
	if err != nil {
		return nil, err
	}
	return onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: string(g.Schema)})
}

type migrateUp struct{}

// Run migrates.
func (migrateUp) Run(a *app) error {
	return a.with(creates, func(s *session) error {
		before, err := s.database.version(s.ctx)
		if err == nil {
			err = s.Migrate(s.ctx)
		}
		if err != nil {
			return err
		}
		after, err := s.database.version(context.WithoutCancel(s.ctx))
		if err != nil {
			return err
		}
		doc := struct {
			Before int `json:"before"`
			Have   int `json:"have"`
			Need   int `json:"need"`
		}{before, after, s.need()}
		return s.tell(doc, func() {
			switch {
			case before > s.need():
				s.say("%s: at version %d, newer than the %d that this program knows: left alone", s.where, after, s.need())
			case before == after:
				s.say("%s: at version %d already", s.where, after)
			default:
				s.say("%s: from version %d to %d", s.where, before, after)
			}
		})
	})
}

type migrateStatus struct{}

// Run compares versions. What services must run first has an exit code.
func (migrateStatus) Run(a *app) error {
	return a.with(inspects, func(s *session) error {
		have, err := s.database.version(s.ctx)
		if err != nil {
			return err
		}
		need := s.need()
		state, next := standingOf(have, need)
		doc := struct {
			State string `json:"state"`
			Have  int    `json:"have"`
			Need  int    `json:"need"`
		}{state, have, need}
		if err := s.tell(doc, func() {
			s.say("%s", s.where)
			facts(s.stdout, [][2]string{{"have", "version " + strconv.Itoa(have)}, {"need", "version " + strconv.Itoa(need)}, {"state", state}, {"next", next}}...)
		}); err != nil {
			return err
		}
		if have < need {
			return fail(exitSchema, "the schema is %s: %s", state, next)
		}
		return nil
	})
}

func standingOf(have, need int) (state, next string) {
	switch {
	case have == 0:
		return "missing", `run "onejob migrate up", or give your DBA what "onejob migrate print" says`
	case have < need:
		return "behind", `run "onejob migrate up", or give your DBA what "onejob migrate print --from ` + strconv.Itoa(have) + `" says; then start the services that need it`
	case have > need:
		return "ahead", "nothing: a newer schema serves this program too"
	}
	return "current", "nothing"
}
