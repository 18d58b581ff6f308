package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver

	"github.com/onejob-go/onejob"
)

var (
	params = []byte(`{"amount":1299,"currency":"EUR","customer":"cus_9s6XKzkNRiz8i3","note":"` + padding(224) + `"}`)
	result = []byte(padding(100))
)

func padding(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b)
}

var serial atomic.Int64

func key() string { return fmt.Sprintf("key-%012d", serial.Add(1)) }

func intent() onejob.Intent {
	return onejob.Intent{Owner: "owner-1", Key: key(), Kind: "charge", Params: params}
}

var try = onejob.Try{Provider: "primary", Timeout: time.Minute}

// lite is a file with the library's tables.
type lite struct {
	path  string
	store *onejob.SQLiteStore
	jobs  *onejob.Jobs
}

func openLite(ctx context.Context) (*lite, func(), error) {
	dir, err := os.MkdirTemp("", "onejob-bench-")
	if err != nil {
		return nil, nil, err
	}
	l := &lite{path: filepath.Join(dir, "onejob.db")}
	l.store, err = onejob.OpenSQLite(ctx, l.path, nil)
	if err == nil {
		err = l.store.Migrate(ctx)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	l.jobs = onejob.New(l.store, nil)
	return l, func() {
		l.store.Close()
		os.RemoveAll(dir)
	}, nil
}

// handLite is SQL written by hand on the same tables: one writer connection,
// prepared statements, a commit for each call.
type handLite struct {
	db                                          *sql.DB
	conn                                        *sql.Conn
	lock                                        chan struct{}
	begin, commit, create, start, swap, succeed *sql.Stmt
}

func openHandLite(ctx context.Context, path, synchronous string) (*handLite, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	h := &handLite{db: db, lock: make(chan struct{}, 1)}
	if h.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	for text, stmt := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE": &h.begin, "COMMIT": &h.commit,
		`INSERT INTO onejob_jobs (id, owner, key, kind, target, params, opaque, fingerprint, fingerprint_version, state, version, created_at)
			VALUES (?1, ?2, ?3, ?4, '', ?5, 0, ?6, 1, 'open', 1, ?7) ON CONFLICT DO NOTHING`: &h.create,
		`INSERT INTO onejob_attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline)
			SELECT ?1, ?2, (SELECT coalesce(max(number), 0) + 1 FROM onejob_attempts WHERE job_id = ?1), ?3, 'started', 1, ?4, ?5, ?6, ?6 + ?5
			ON CONFLICT DO NOTHING`: &h.start,
		`UPDATE onejob_jobs SET state = 'completed', version = version + 1, completed_by = ?2, result = ?4, result_digest = ?5, ended_at = ?6
			WHERE id = ?1 AND version = ?3 AND completed_by IS NULL AND state = 'open'`: &h.swap,
		`UPDATE onejob_attempts SET state = 'succeeded', ended_at = ?3 WHERE job_id = ?1 AND id = ?2`: &h.succeed,
	} {
		if *stmt, err = h.conn.PrepareContext(ctx, text); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *handLite) close() {
	h.conn.Close()
	h.db.Close()
}

// tx runs f in a transaction of its own.
func (h *handLite) tx(ctx context.Context, f func() error) error {
	h.lock <- struct{}{}
	defer func() { <-h.lock }()
	if _, err := h.begin.ExecContext(ctx); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	_, err := h.commit.ExecContext(ctx)
	return err
}

type handJob struct{ id, attempt string }

func (h *handLite) insertJob(ctx context.Context) (handJob, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return handJob{}, err
	}
	sum := sha256.Sum256(params)
	_, err = h.create.ExecContext(ctx, id.String(), "owner-1", key(), "charge", params, sum[:], time.Now().UnixMicro())
	return handJob{id: id.String()}, err
}

func (h *handLite) insertAttempt(ctx context.Context, j *handJob) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	j.attempt = id.String()[19:23] + id.String()[24:]
	sum := sha256.Sum256([]byte(j.id))
	_, err = h.start.ExecContext(ctx, j.id, j.attempt, "primary", fmt.Sprintf("%x", sum[:16]), time.Minute.Microseconds(), time.Now().UnixMicro())
	return err
}

func (h *handLite) complete(ctx context.Context, j handJob) error {
	sum := sha256.Sum256(result)
	now := time.Now().UnixMicro()
	if _, err := h.swap.ExecContext(ctx, j.id, j.attempt, 1, result, sum[:], now); err != nil {
		return err
	}
	_, err := h.succeed.ExecContext(ctx, j.id, j.attempt, now)
	return err
}

func (h *handLite) Create(ctx context.Context, _ int) error {
	return h.tx(ctx, func() error {
		_, err := h.insertJob(ctx)
		return err
	})
}

// Cycle is three calls, a commit each.
func (h *handLite) Cycle(ctx context.Context, _ int) error {
	var j handJob
	err := h.tx(ctx, func() (err error) {
		j, err = h.insertJob(ctx)
		return err
	})
	if err == nil {
		err = h.tx(ctx, func() error { return h.insertAttempt(ctx, &j) })
	}
	if err == nil {
		err = h.tx(ctx, func() error { return h.complete(ctx, j) })
	}
	return err
}

// Cycle2 is Start and Complete, a commit each.
func (h *handLite) Cycle2(ctx context.Context, _ int) error {
	var j handJob
	err := h.tx(ctx, func() (err error) {
		if j, err = h.insertJob(ctx); err != nil {
			return err
		}
		return h.insertAttempt(ctx, &j)
	})
	if err == nil {
		err = h.tx(ctx, func() error { return h.complete(ctx, j) })
	}
	return err
}

func (l *lite) Create(ctx context.Context, _ int) error {
	_, _, err := l.jobs.Create(ctx, intent())
	return err
}

// Cycle is Start and Complete.
func (l *lite) Cycle(ctx context.Context, _ int) error {
	_, a, err := l.jobs.Start(ctx, intent(), try)
	if err != nil {
		return err
	}
	_, err = l.jobs.Complete(ctx, a, result)
	return err
}
