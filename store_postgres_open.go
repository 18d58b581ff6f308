package onejob

import "database/sql"

// NewPostgresStore returns a store on db. It sends nothing: call
// [PostgresStore.Migrate] once before use, or run [PostgresStore.Migrations].
// The error is ErrInvalid, for a nil db or a bad schema name.
//
// Let the pool keep its connections: db.SetMaxIdleConns to the same number as
// db.SetMaxOpenConns. The default of 2 idle ones opens and closes connections
// all the time under load.
func NewPostgresStore(db *sql.DB, opts *PostgresOptions) (*PostgresStore, error) {
	const op = "NewPostgresStore"
	var o PostgresOptions
	if opts != nil {
		o = *opts
	}
	if o.Schema == "" {
		o.Schema = "onejob"
	}
	if db == nil {
		return nil, named(op, invalid("db", "is required"))
	}
	if err := checkName("PostgresOptions.Schema", o.Schema, "pg_"); err != nil {
		return nil, named(op, err)
	}
	s := &PostgresStore{db: db, schema: o.Schema}
	s.sql = statements{db: db, unprepared: o.Unprepared, names: map[string]string{
		"{schema}":      s.quoted(),
		"{job}":         jobColumns,
		"{job-}":        withoutPayload(jobColumns, "NULL::bytea", "j.result"),
		"{entry}":       withoutPayload(jobColumns, "NULL::bytea", "j.params", "j.result"),
		"{attempt}":     attemptColumns("a", "clock_timestamp()"),
		"{other}":       attemptColumns("o", "clock_timestamp()"),
		"{attempt raw}": attemptRaw,
		"{shown}":       shownAttempt,
	}}
	return s, nil
}
