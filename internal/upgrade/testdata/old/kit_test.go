// Package kit_test is put into a kept release's tree and built there: it runs
// that release's conformance kit on tables that the present library has made.
package kit_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/invariants"
	"github.com/onejob-go/onejob/internal/upgrade/worker"
	"github.com/onejob-go/onejob/storetest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv("ONEJOB_UPGRADE_WORKER"); address != "" {
		if err := worker.Serve(os.Stdin, os.Stdout, address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestKit takes the address of a database, or a directory for SQLite, and a file
// of statements that make the tables, whose schema or prefix is called names in it.
func TestKit(t *testing.T) {
	address, names := os.Getenv("ONEJOB_UPGRADE_ADDRESS"), os.Getenv("ONEJOB_UPGRADE_NAMES")
	raw, err := os.ReadFile(os.Getenv("ONEJOB_UPGRADE_TABLES"))
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	storetest.Run(t, func(t *testing.T) onejob.Store {
		own := fmt.Sprintf("kit_%d_", count.Add(1))
		tables := strings.ReplaceAll(string(raw), names, own)
		if strings.HasPrefix(address, "postgres") {
			return onPostgres(t, address, own, tables)
		}
		return onSQLite(t, filepath.Join(address, own+".db"), own, tables)
	})
}

func onPostgres(t *testing.T, address, schema, tables string) onejob.Store {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema) // where the kit's own tables go
	u.RawQuery = q.Encode()
	db := pool(t, "postgres", u.String(), tables, schema+".")
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	store, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func onSQLite(t *testing.T, path, prefix, tables string) onejob.Store {
	pool(t, "sqlite", path, tables, prefix)
	store, err := onejob.OpenSQLite(context.Background(), path, &onejob.SQLiteOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// pool makes the tables and looks at the rows when the test ends.
func pool(t *testing.T, driver, address, tables, prefix string) *sql.DB {
	db, err := sql.Open(driver, address)
	if err == nil {
		_, err = db.Exec(tables)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer db.Close()
		broken, err := invariants.Broken(context.Background(), db, prefix)
		if err != nil || len(broken) > 0 {
			t.Error("broken invariants: ", broken, err)
		}
	})
	return db
}
