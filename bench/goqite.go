package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"maragu.dev/goqite"
)

// goqitePeer sends, receives and deletes a message, on one connection as its
// author advises.
type goqitePeer struct {
	db    *sql.DB
	queue *goqite.Queue
}

func openGoqite(ctx context.Context, dir string) (*goqitePeer, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "goqite.db")+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	// Its schema is a file of its module.
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return nil, err
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "schema_sqlite.sql"))
	if err == nil {
		_, err = db.ExecContext(ctx, string(schema))
	}
	if err != nil {
		return nil, err
	}
	return &goqitePeer{db, goqite.New(goqite.NewOpts{DB: db, Name: "jobs", Timeout: time.Minute})}, nil
}

func (p *goqitePeer) Cycle(ctx context.Context, _ int) error {
	if err := p.queue.Send(ctx, goqite.Message{Body: params}); err != nil {
		return err
	}
	m, err := p.queue.Receive(ctx)
	if err != nil || m == nil {
		return fmt.Errorf("received nothing: %v", err)
	}
	return p.queue.Delete(ctx, m.ID)
}
