// Package schema holds the migrations of both databases: the only copy. Use
// the stores' Migrate or Migrations, which write the names out.
//
// A file is numbered, goose can read it, and each of its statements ends with
// a semicolon at the end of a line, where no other semicolon stands. Up inserts
// the file's number into the library's own table of versions, and down takes
// it out, so whatever runs a file, Migrate knows. A released file is never
// changed.
package schema

import "embed"

// FS holds postgres/*.sql and sqlite/*.sql.
//
//go:embed postgres/*.sql sqlite/*.sql
var FS embed.FS
