package model_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/faults/model"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// epoch is when every sequence begins, by the model's clock.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro()

const maxAttempts = 3

// subject is a store under test, and what connects its time to the model's.
type subject struct {
	name   string
	jobs   *onejob.Jobs
	op     *onejob.Operator
	db     *sql.DB
	tables string // what stands before a table's name
	count  *sql.Stmt
	clean  []*sql.Stmt

	now    int64  // the model's clock, of a store that has none
	server bool   // the store has a clock of its own, which nobody sets
	offset int64  // from the server's clock to the model's
	begun  int64  // when the sequence began, by the server's clock
	id     string // what NewID returns in this step
	refuse bool

	used         int // sequences since the tables were emptied
	calls, hooks int
	hooked       model.JobView
}

func (s *subject) use(store onejob.Store) {
	s.jobs = onejob.New(store, &onejob.Options{
		Now:         func() time.Time { return time.UnixMicro(s.now) },
		NewID:       func() string { return s.id },
		MaxAttempts: maxAttempts,
		OnComplete: func(_ context.Context, _ *sql.Tx, job onejob.Job) error {
			s.hooks++
			s.hooked = s.viewJob(job)
			if s.refuse {
				return model.ErrHook
			}
			return nil
		},
	})
	s.op = onejob.NewOperator(s.jobs)
}

func newPostgres(t *testing.T) *subject {
	// Nothing here survives the test, so no commit waits for a disk.
	// Planning anew would take most of the server's time.
	dsn := dbtest.PostgresDSN(t) + "&synchronous_commit=off&plan_cache_mode=force_generic_plan"
	s := &subject{name: "postgres", tables: "onejob.", db: dbtest.OpenPostgres(t, dsn), server: true}
	store, err := onejob.NewPostgresStore(s.db, nil)
	require.NoError(t, err)
	s.use(store)
	s.prepare(t, "WITH a AS (DELETE FROM {t}attempts) DELETE FROM {t}jobs")
	return s
}

func newSQLite(t *testing.T) *subject {
	dir, err := os.MkdirTemp(memory(), "onejob-model-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	dsn := "file:" + filepath.Join(dir, "onejob.db") +
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=foreign_keys(ON)"
	open := func(dsn string) *sql.DB {
		db, err := openPrepared(dsn)
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		return db
	}
	writer := open(dsn)
	store, err := onejob.NewSQLiteStore(writer, &onejob.SQLiteOptions{Readers: open(dsn + "&_pragma=query_only(ON)")})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	s := &subject{name: "sqlite", tables: "onejob_", db: writer}
	s.use(store)
	s.prepare(t,
		`UPDATE {t}jobs SET state = 'open', ended_at = NULL, purged_at = NULL, completed_by = NULL,
			result_digest = NULL, result = NULL, params = x'' WHERE completed_by IS NOT NULL`,
		"DELETE FROM {t}attempts", "DELETE FROM {t}jobs")
	t.Cleanup(func() { dbtest.Check(t, writer, s.tables) })
	return s
}

// memory is a directory without a disk behind it, where there is one.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// reset removes what the last sequence left.
func (s *subject) reset() error {
	s.used++
	s.refuse = false
	if s.server {
		s.begun = time.Now().UnixMicro()
		s.offset = epoch - s.begun
		if s.used%256 == 0 { // else dead rows pile up, and every scan reads them
			_, err := s.db.Exec("TRUNCATE onejob.jobs, onejob.attempts")
			return err
		}
	}
	s.now = epoch
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, q := range s.clean {
		if _, err := tx.Stmt(q).Exec(); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// prepare keeps what each sequence sends prepared, as the stores do.
func (s *subject) prepare(t *testing.T, clean ...string) {
	for _, q := range append(clean, "SELECT (SELECT count(*) FROM {t}jobs), (SELECT count(*) FROM {t}attempts)") {
		stmt, err := s.db.Prepare(strings.ReplaceAll(q, "{t}", s.tables))
		require.NoError(t, err)
		t.Cleanup(func() { stmt.Close() })
		s.clean, s.count = append(s.clean, stmt), stmt
	}
	s.clean = s.clean[:len(clean)]
}

// step prepares for an operation at an instant of the model's clock.
func (s *subject) step(id string, now int64) {
	s.id, s.calls, s.hooks, s.hooked = id, 0, 0, model.JobView{}
	if !s.server {
		s.now = now
	}
}

// The server's clock cannot be set. So time passes by moving all that is
// stored into the past.
var passes = []string{
	"UPDATE onejob.jobs SET created_at = created_at - {d}, ended_at = ended_at - {d}, purged_at = purged_at - {d}",
	"UPDATE onejob.attempts SET started_at = started_at - {d}, deadline = deadline - {d}, ended_at = ended_at - {d}, late_at = late_at - {d}",
}

// advance lets time pass. A store without a clock gets it with the next step.
func (s *subject) advance(d time.Duration) error {
	if !s.server {
		return nil
	}
	s.offset += d.Microseconds()
	for _, q := range passes {
		if _, err := s.db.Exec(strings.ReplaceAll(q, "{d}", fmt.Sprintf("interval '%d microseconds'", d.Microseconds()))); err != nil {
			return err
		}
	}
	return nil
}

// slack is by how much the store's times may differ from the model's.
func (s *subject) slack() int64 {
	if !s.server {
		return 0
	}
	return time.Now().UnixMicro() - s.begun + time.Second.Microseconds()
}

// at is an instant of the model's clock by the store's.
func (s *subject) at(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(t - s.offset)
}
