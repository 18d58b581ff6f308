package onejob_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	_ "github.com/lib/pq" // the driver

	"github.com/onejob-go/onejob"
)

func ExampleNewPostgresStore() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16) // as many as open ones: the default of 2 costs a lot
	store, err := onejob.NewPostgresStore(db, &onejob.PostgresOptions{Schema: "onejob"})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(context.Background()); err != nil {
		log.Fatal(err)
	}
	_ = onejob.New(store, nil)
}

func ExampleOpenSQLite() {
	dir, err := os.MkdirTemp("", "onejob")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	store, err := onejob.OpenSQLite(ctx, filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(store.Migrate(ctx))
	// Output:
	// <nil>
}

func ExampleNewSQLiteStore() {
	dir, err := os.MkdirTemp("", "onejob")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// The host's own pools, with the pragmas in the driver's own words.
	dsn := "file:" + filepath.Join(dir, "app.db") +
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"
	writer, _ := sql.Open("sqlite", dsn)
	defer writer.Close()
	writer.SetMaxOpenConns(1)
	readers, _ := sql.Open("sqlite", dsn)
	defer readers.Close()

	store, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Readers: readers, Prefix: "jobs_"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Migrate(context.Background()))
	// Output:
	// <nil>
}

// For hosts that run migrations with a tool of their own.
func ExamplePostgresStore_Migrations() {
	store, _ := onejob.NewPostgresStore(&sql.DB{}, nil)
	files, _ := fs.Glob(store.Migrations(), "*/*.sql")
	for _, f := range files {
		fmt.Println(f)
	}
	// Output:
	// goose/0001_jobs.sql
	// goose/0002_qualifications.sql
	// goose/0003_turns.sql
	// migrate/0001_jobs.down.sql
	// migrate/0001_jobs.up.sql
	// migrate/0002_qualifications.down.sql
	// migrate/0002_qualifications.up.sql
	// migrate/0003_turns.down.sql
	// migrate/0003_turns.up.sql
}
