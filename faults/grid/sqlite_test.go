package grid

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// Every operation × every fault on SQLite, as on PostgreSQL.
func TestEveryOperationOnSQLiteTellsTheTruthUnderEveryFault(t *testing.T) {
	t.Parallel()
	g := newGrid(t, "SQLite", sqliteFaults())
	g.place = sqlitePlaces(t)
	g.turn = func(*operation) func() { return func() {} }
	g.quiet = func(context.Context, *trial) error { return nil }
	g.run()
	g.finish()
}

// sqlitePlaces copies a migrated file for each run: a writer that is held up
// would hold up all others on its file.
func sqlitePlaces(t *testing.T) func(*operation) (*place, func(), error) {
	dir := t.TempDir()
	pattern := filepath.Join(dir, "pattern.db")
	store, err := onejob.OpenSQLite(t.Context(), pattern, nil)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	require.NoError(t, store.Close())
	db, err := sql.Open("sqlite", pattern)
	require.NoError(t, err)
	_, err = db.Exec(createRows)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	migrated, err := os.ReadFile(pattern)
	require.NoError(t, err)
	return func(*operation) (*place, func(), error) {
		own, err := os.MkdirTemp(dir, "run")
		if err != nil {
			return nil, nil, err
		}
		path := filepath.Join(own, "onejob.db")
		if err := os.WriteFile(path, migrated, 0o600); err != nil {
			return nil, nil, err
		}
		// Where nothing goes wrong there is no need to wait for the disk.
		pools, err := openSQLite(path, "OFF", 5*time.Second, &commitHook{})
		if err != nil {
			return nil, nil, err
		}
		p := &place{db: pools.writer, store: pools.store, tables: "onejob_", bind: question, address: path, dir: own}
		return p, func() {
			dbtest.Check(t, pools.writer, "onejob_")
			pools.close()
			os.RemoveAll(own)
		}, nil
	}
}

// pools are a host's own on one file: one connection that writes, and readers.
type pools struct {
	store           *onejob.SQLiteStore
	writer, readers *sql.DB
}

func openSQLite(path, synchronous string, busy time.Duration, hook *commitHook) (*pools, error) {
	id := uuid7()
	hooks.Store(id, hook)
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()), "journal_mode(WAL)", "synchronous(" + synchronous + ")", "foreign_keys(1)",
	}}
	dsn := "file:" + path + "?" + q.Encode() + "&hook=" + id
	p := &pools{}
	var err error
	if p.writer, err = sql.Open("grid", dsn); err != nil {
		return nil, err
	}
	p.writer.SetMaxOpenConns(1)
	if p.readers, err = sql.Open("grid", dsn); err != nil {
		return nil, err
	}
	p.store, err = onejob.NewSQLiteStore(p.writer, &onejob.SQLiteOptions{Readers: p.readers})
	return p, err
}

func (p *pools) close() {
	p.readers.Close()
	p.writer.Close()
}
