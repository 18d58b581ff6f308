package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/onejob-go/onejob"
)

// diskUse are the bytes that a completed job takes, with all indexes, after
// VACUUM. The library's has one attempt.
type diskUse struct{ postgres, atOnce, sqlite, river, dbos float64 }

// disk has so many jobs made as they are made in life, so that what updates leave
// behind counts.
func (f *field) disk(ctx context.Context, brief bool) (d diskUse, err error) {
	batches, batch := 5, 10_000
	if brief {
		batch = 200
	}
	n := float64(batches * batch)
	for schema, use := range map[string]*float64{"disk": &d.postgres, "at_once": &d.atOnce} {
		store, err := onejob.NewPostgresStore(f.pg.db, &onejob.PostgresOptions{Schema: schema})
		if err == nil {
			err = store.Migrate(ctx)
		}
		if err != nil {
			return d, err
		}
		p := &pg{jobs: onejob.New(store, nil)}
		tables := []string{schema + ".jobs", schema + ".attempts"}
		for range batches {
			if schema == "at_once" {
				err = spread(batch, func(int) error { return p.Cycle(ctx, 0) })
			} else if err = beginThenComplete(ctx, p.jobs, batch); err == nil {
				// As autovacuum would, once a fifth of a table has changed.
				err = f.vacuumAll(ctx, tables)
			}
			if err != nil {
				return d, err
			}
		}
		if *use, err = f.bytesOf(ctx, n, tables...); err != nil {
			return d, err
		}
	}
	if d.sqlite, err = f.diskLite(ctx, batches, batch); err != nil {
		return d, err
	}
	return d, f.diskOfPeers(ctx, &d, batch/5)
}

func (f *field) vacuumAll(ctx context.Context, tables []string) error {
	for _, table := range tables {
		if _, err := f.pg.db.ExecContext(ctx, "VACUUM "+table); err != nil {
			return err
		}
	}
	return nil
}

// bytesOf is what each of n jobs takes in the tables, after VACUUM.
func (f *field) bytesOf(ctx context.Context, n float64, tables ...string) (sum float64, err error) {
	if err = f.vacuumAll(ctx, tables); err != nil {
		return 0, err
	}
	for _, table := range tables {
		var size float64
		if err := f.pg.db.QueryRowContext(ctx, "SELECT pg_total_relation_size($1)", table).Scan(&size); err != nil {
			return 0, err
		}
		sum += size / n
	}
	return sum, nil
}

// beginThenComplete has each job wait for its provider longer than a page takes
// to fill.
func beginThenComplete(ctx context.Context, jobs *onejob.Jobs, n int) error {
	begun := make([]onejob.Attempt, n)
	err := spread(n, func(i int) (err error) {
		_, begun[i], err = jobs.Start(ctx, intent(), try)
		return err
	})
	if err != nil {
		return err
	}
	return spread(n, func(i int) error {
		_, err := jobs.Complete(ctx, begun[i], result)
		return err
	})
}

func (f *field) diskLite(ctx context.Context, batches, batch int) (float64, error) {
	path := filepath.Join(filepath.Dir(f.lite.path), "disk.db")
	lite, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		return 0, err
	}
	err = lite.Migrate(ctx)
	for range batches {
		if err == nil {
			err = beginThenComplete(ctx, onejob.New(lite, nil), batch)
		}
	}
	if err = errors.Join(err, lite.Close()); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, "VACUUM")
	if err = errors.Join(err, db.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / float64(batches*batch), nil
}

// diskOfPeers counts the rows that are there by then, whatever made them.
func (f *field) diskOfPeers(ctx context.Context, d *diskUse, n int) error {
	pool, err := pgxPool(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer pool.Close()
	river, done, err := openRiver(ctx, riverpgxv5.New(pool), 100, true)
	if err != nil {
		return err
	}
	defer done()
	if err := spread(n, func(int) error { return river.Flow(ctx, 0) }); err != nil {
		return err
	}
	if err := river.Drain(ctx); err != nil {
		return err
	}
	dbos, close, err := openDBOS(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	defer close()
	if err := spread(n, func(int) error { return dbos.Cycle(ctx, 0) }); err != nil {
		return err
	}
	for _, peer := range []struct {
		count  string
		tables []string
		use    *float64
	}{
		{"SELECT count(*) FROM river_job", []string{"river_job"}, &d.river},
		{"SELECT count(*) FROM dbos.workflow_status", []string{"dbos.workflow_status", "dbos.operation_outputs"}, &d.dbos},
	} {
		var rows float64
		if err := f.pg.db.QueryRowContext(ctx, peer.count).Scan(&rows); err != nil {
			return err
		}
		if *peer.use, err = f.bytesOf(ctx, rows, peer.tables...); err != nil {
			return fmt.Errorf("%v: %w", peer.tables, err)
		}
	}
	return nil
}

// spread calls do for 0 to n-1 from 32 goroutines.
func spread(n int, do func(i int) error) error {
	const callers = 32
	errs := make([]error, callers)
	var all sync.WaitGroup
	for w := range callers {
		all.Go(func() {
			for i := w; i < n && errs[w] == nil; i += callers {
				errs[w] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
