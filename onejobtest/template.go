package onejobtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/onejob-go/onejob"
)

// template returns the bytes of an empty database. Migrating takes far longer
// than writing a file, so that happens once per process.
var template = sync.OnceValues(func() (image []byte, err error) {
	dir, err := os.MkdirTemp("", "onejobtest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "template.db")
	ctx := context.Background()
	store, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	// Closing takes what is in the WAL into the file.
	if err := errors.Join(store.Migrate(ctx), store.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
