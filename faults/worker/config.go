// Package worker is the process that a run kills and stops: it works on jobs
// that other processes work on too, and writes down what it asked and heard.
package worker

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/lib/pq"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/pgdial"
)

// Config is what a worker process is told.
type Config struct {
	Name       string // unique in the run
	Store      string // "postgres" or "sqlite"
	Address    string // a DSN, or a file
	History    string // the file to write what was asked and heard
	Texts      string // the file for every log line and every error's text
	Seed       uint64
	Goroutines int
	Conns      int           // of the pool, on PostgreSQL
	Began      int64         // history.Now when the run began
	KeyEvery   time.Duration // how often a new key comes into play
	Window     int           // how many keys are in play
	Skew       time.Duration // how far the clock may be wrong, either way
	Silence    time.Duration // how long a connection may be silent
	Hook       bool          // complete with OnComplete
	CancelOne  int           // one in so many operations has a context that ends
	Rounds     bool          // play rounds that stdin asks for, instead of working
}

const variable = "ONEJOB_FAULTS_WORKER"

// Main turns the process into a worker if that is what it was started for. Call
// it first in TestMain.
func Main() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var c Config
	err := json.Unmarshal([]byte(text), &c)
	if err == nil && c.Rounds {
		err = rounds(c, os.Stdin, os.Stdout)
	} else if err == nil {
		err = work(c, os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command is the test binary as a worker. It ends when its stdin does.
func Command(c Config) (*exec.Cmd, io.WriteCloser, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+string(text), "GOMAXPROCS=2")
	cmd.Stderr = os.Stderr
	// Also one that is stopped must not outlive the run.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	return cmd, in, err
}

// open opens the store of a worker.
func open(c Config) (onejob.Store, func(), error) {
	if c.Store == "sqlite" {
		var store *onejob.SQLiteStore
		// Another process may be stopped while it holds the lock.
		var err error
		for range 20 {
			if store, err = onejob.OpenSQLite(context.Background(), c.Address, nil); err == nil {
				return store, func() { store.Close() }, nil
			}
			time.Sleep(50 * time.Millisecond)
		}
		return nil, nil, err
	}
	db, err := Pool(c.Address, c.Silence, c.Conns)
	if err != nil {
		return nil, nil, err
	}
	store, err := onejob.NewPostgresStore(db, nil)
	return store, func() { db.Close() }, err
}

// Pool opens a pool whose connections do not wait for ever.
func Pool(dsn string, silence time.Duration, size int) (*sql.DB, error) {
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	connector.Dialer(pgdial.Dialer{Silence: silence, Connect: time.Second})
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}
