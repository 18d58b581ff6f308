package main

import (
	"fmt"
	"strings"
)

type migratePrint struct {
	Database string `enum:"postgres,sqlite,dsn" default:"dsn" help:"postgres or sqlite. Otherwise what the DSN is of; it is not connected to."`
	From     int    `default:"0" placeholder:"VERSION" help:"The version that is there (0): see onejob migrate status."`
	To       *int   `placeholder:"VERSION" help:"The version to go to, the newest otherwise. A lower one than --from goes down, AND LOSES DATA."`
}

// Run prints one transaction.
func (c *migratePrint) Run(a *app) error {
	kind := c.Database
	if kind == "dsn" {
		if a.DSN == "" {
			return usage("for which database? Give --database postgres or --database sqlite, or a DSN")
		}
		at, err := parseDSN(a.DSN)
		if err != nil {
			return err
		}
		kind = at.kind
	}
	s, err := a.offline(kind)
	if err != nil {
		return err
	}
	files := migrationFiles(s)
	to := len(files)
	if c.To != nil {
		to = *c.To
	}
	if c.From < 0 || c.From > len(files) || to < 0 || to > len(files) {
		return usage("--from and --to must be from 0 to %d, the newest version that this program knows", len(files))
	}
	text := c.script(kind, string(a.Schema), files, to)
	doc := struct {
		From int    `json:"from"`
		To   int    `json:"to"`
		SQL  string `json:"sql"`
	}{c.From, to, text}
	return a.tell(doc, func() { fmt.Fprint(a.stdout, text) })
}

func (c *migratePrint) script(kind, schema string, files []migrationFile, to int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- onejob, %s: from version %d to %d, in one transaction.\n", kind, c.From, to)
	if kind == sqlite {
		b.WriteString("-- Run it with sqlite3 -bail: without, the shell goes on after an error, and commits.\nBEGIN IMMEDIATE;\n\n")
	} else {
		if schema == "" {
			schema = "onejob"
		}
		b.WriteString("-- Run it with psql -v ON_ERROR_STOP=1, at a quiet time.\n-- The lock keeps services out that migrate at their start.\nBEGIN;\n" +
			"SELECT pg_advisory_xact_lock(hashtextextended('onejob." + schema + "', 0));\n\n")
	}
	for _, f := range files {
		if f.version > c.From && f.version <= to {
			fmt.Fprintf(&b, "-- %s\n%s\n", f.name, strings.TrimSpace(f.up)+"\n")
		}
	}
	for i := len(files) - 1; i >= 0; i-- {
		if f := files[i]; f.version <= c.From && f.version > to {
			fmt.Fprintf(&b, "-- %s, down\n%s\n", f.name, strings.TrimSpace(f.down)+"\n")
		}
	}
	b.WriteString("COMMIT;\n")
	return b.String()
}
