package grid

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/onejob-go/onejob"
)

// place is a database, reached without faults.
type place struct {
	db      *sql.DB
	store   onejob.Store
	tables  string // what stands before their names
	bind    func(string) string
	serial  *sync.Mutex // of runs that work on all jobs there are
	dir     string
	address string // or the path of the file
}

func (p *place) host(op *operation, w *world, log *slog.Logger) *host {
	return newHost(p.store, p.db, p.bind, op, w, log)
}

// look reads all that one run has left.
func (p *place) look(w *world) (v view, err error) {
	jobs := p.tables + "jobs"
	if v.jobs, err = p.read("SELECT * FROM "+jobs+" WHERE owner = ?1 ORDER BY key", w.Owner); err != nil {
		return v, err
	}
	if v.attempts, err = p.read("SELECT * FROM "+p.tables+"attempts WHERE job_id IN (SELECT id FROM "+jobs+
		" WHERE owner = ?1) ORDER BY job_id, number", w.Owner); err != nil {
		return v, err
	}
	if err = p.db.QueryRow(p.bind("SELECT count(*) FROM host WHERE run = ?1"), w.Key).Scan(&v.rows); err != nil {
		return v, err
	}
	ledger, _ := os.ReadFile(w.Ledger)
	v.calls = bytes.Count(ledger, []byte("\n"))
	return v, nil
}

// read returns rows as text, byte for byte.
func (p *place) read(query string, args ...any) (all []map[string]string, err error) {
	rows, err := p.db.Query(p.bind(query), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = text(values[i])
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

func question(query string) string { return query }
func dollar(query string) string   { return strings.ReplaceAll(query, "?", "$") }

// waitFor asks until it is so, and gives up after a time that nothing takes.
func waitFor(ctx context.Context, what string, so func() (bool, error)) error {
	pause := time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		pause = min(2*pause, 20*time.Millisecond)
		ok, err := so()
		if err != nil || ok {
			return err
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("waited in vain for %s", what)
		}
	}
}

// patience is a bound against hanging, not a measure.
const patience = 60 * time.Second
