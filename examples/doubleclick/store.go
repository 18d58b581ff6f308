package main

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/lib/pq" // the driver of -postgres

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/examples/internal/tempdb"
)

// openStore opens PostgreSQL at dsn, or a temporary SQLite file if dsn is
// empty. Nothing else in this program depends on which it is.
func openStore(ctx context.Context, dsn string) (store onejob.Store, name string, closeStore func() error, err error) {
	if dsn == "" {
		db, err := tempdb.Open(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		return db.SQLiteStore, "SQLite", db.Remove, nil
	}
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, "", nil, err
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	pg, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: "onejob_doubleclick"})
	if err == nil {
		err = pg.Migrate(ctx)
	}
	if err != nil {
		return nil, "", nil, errors.Join(err, db.Close())
	}
	return pg, "PostgreSQL, schema onejob_doubleclick", db.Close, nil
}
