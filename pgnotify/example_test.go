package pgnotify_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/pgnotify"
)

func ExampleOpen() {
	dsn := "postgres://app@localhost:1/app?sslmode=disable" // the primary itself, not a pooler
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := onejob.NewPostgresStore(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	notifier, err := pgnotify.Open(dsn, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer notifier.Close()
	jobs := onejob.New(store, &onejob.Options{Notifier: notifier})

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = jobs.Wait(ctx, "user-7", "0190a3c1-0000-7000-8000-000000000000")
	fmt.Println(err != nil) // nothing listens there
	// Output:
	// true
}
