package pgdial_test

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/lib/pq"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/pgdial"
)

// With lib/pq. The server gives up statements first, so that silence can only
// mean a fault.
func ExampleDialer() {
	connector, err := pq.NewConnector("postgres://app@db1,db2/app?target_session_attrs=read-write" +
		"&connect_timeout=5&statement_timeout=20000&lock_timeout=10000")
	if err != nil {
		log.Fatal(err)
	}
	connector.Dialer(pgdial.Dialer{Silence: 25 * time.Second})
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	store, err := onejob.NewPostgresStore(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	_ = onejob.New(store, nil)
	fmt.Println(db.Stats().MaxOpenConnections)
	// Output:
	// 16
}

// A listener waits for notifications in silence: it gets no such limit, and
// learns of a dead network from TCP.
func ExampleDialer_listener() {
	listener := pq.NewDialListener(pgdial.Dialer{Silence: -1}, os.Getenv("DATABASE_URL"),
		time.Second, time.Minute, nil)
	defer listener.Close()
}
