// Package tempdb opens embedded SQLite in a directory that goes away again.
package tempdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver the examples use

	"github.com/onejob-go/onejob"
)

// DB is a migrated store and the file it is in.
type DB struct {
	*onejob.SQLiteStore
	Path string
}

// Open makes the file. Remove it when done.
func Open(ctx context.Context) (*DB, error) {
	dir, err := os.MkdirTemp("", "onejob-example-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "onejob.db")
	store, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	db := &DB{store, path}
	if err := store.Migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Remove())
	}
	return db, nil
}

// Remove closes the store and deletes its files.
func (db *DB) Remove() error {
	return errors.Join(db.Close(), os.RemoveAll(filepath.Dir(db.Path)))
}
