package main

import (
	"regexp"
	"strings"
)

// The databases.
const (
	postgres = "postgres"
	sqlite   = "sqlite"
)

// address is a DSN taken apart. It holds the password: never print it.
type address struct {
	kind string
	dsn  string // of PostgreSQL
	path string // of SQLite
}

var (
	keyValue = regexp.MustCompile(`^\s*[a-z_]+\s*=`)
	scheme   = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://`)
)

const dsnHelp = `give it as --dsn or in ONEJOB_DSN: "postgres://host/database?user=app" or "sqlite:/path/to/jobs.db"`

func parseDSN(dsn string) (address, error) {
	switch {
	case strings.TrimSpace(dsn) == "":
		return address{}, usage("which database? %s", dsnHelp)
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		return address{kind: postgres, dsn: dsn}, nil
	case dsn == ":memory:":
		return sqliteAddress(dsn)
	case strings.HasPrefix(dsn, "sqlite:"):
		return sqliteAddress(strings.TrimPrefix(strings.TrimPrefix(dsn, "sqlite:"), "//"))
	case strings.HasPrefix(dsn, "file:"):
		return sqliteAddress(strings.TrimPrefix(strings.TrimPrefix(dsn, "file:"), "//"))
	case scheme.MatchString(dsn):
		return address{}, usage("%s is not one of the databases: %s", scheme.FindStringSubmatch(dsn)[1], dsnHelp)
	case keyValue.MatchString(dsn):
		return address{kind: postgres, dsn: dsn}, nil
	}
	if !strings.ContainsAny(dsn, `/\.`) {
		return address{}, usage("one word may be a database of PostgreSQL or a file of SQLite: write dbname=… or sqlite:…, or the file with its path (./…)")
	}
	return sqliteAddress(dsn)
}

func sqliteAddress(path string) (address, error) {
	switch {
	case path == "" || strings.ContainsRune(path, 0):
		return address{}, usage("the DSN names no file: %s", dsnHelp)
	case path == ":memory:":
		return address{}, usage("a database in memory is of the process that made it: nothing of it can be seen from here")
	case strings.Contains(path, "?"):
		return address{}, usage("give the path of the file alone, without a question mark and what comes after it")
	}
	return address{kind: sqlite, path: path}, nil
}
