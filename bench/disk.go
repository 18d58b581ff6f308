package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/onejob-go/onejob"
)

// diskJobs is how many jobs are made for it, by the library, so that what
// updates leave behind counts. They are completed ten thousand at a time, when as
// many have begun: a provider takes longer than a page takes to fill.
const diskJobs, diskBatch = 50_000, 10_000

// disk returns the bytes that a completed job with one attempt takes, with all
// indexes, after VACUUM.
func (f *field) disk(ctx context.Context) (postgres, sqlite float64, err error) {
	store, err := onejob.NewPostgresStore(f.pg.db, &onejob.PostgresOptions{Schema: "disk"})
	if err != nil {
		return 0, 0, err
	}
	if err := store.Migrate(ctx); err != nil {
		return 0, 0, err
	}
	// As autovacuum would, once a fifth of a table has changed.
	vacuum := func() (err error) {
		for _, table := range []string{"disk.jobs", "disk.attempts"} {
			if err == nil {
				_, err = f.pg.db.ExecContext(ctx, "VACUUM "+table)
			}
		}
		return err
	}
	if err := cycles(ctx, onejob.New(store, nil), vacuum); err != nil {
		return 0, 0, err
	}
	for _, table := range []string{"disk.jobs", "disk.attempts"} {
		var n float64
		if err := f.pg.db.QueryRowContext(ctx, "SELECT pg_total_relation_size($1)", table).Scan(&n); err != nil {
			return 0, 0, err
		}
		postgres += n / diskJobs
	}

	path := filepath.Join(filepath.Dir(f.lite.path), "disk.db")
	lite, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		return 0, 0, err
	}
	err = lite.Migrate(ctx)
	if err == nil {
		err = cycles(ctx, onejob.New(lite, nil), func() error { return nil })
	}
	if e := lite.Close(); err == nil {
		err = e
	}
	if err != nil {
		return 0, 0, err
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, 0, err
	}
	_, err = db.ExecContext(ctx, "VACUUM")
	if e := db.Close(); err == nil {
		err = e
	}
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return postgres, float64(info.Size()) / diskJobs, nil
}

func cycles(ctx context.Context, jobs *onejob.Jobs, after func() error) error {
	for range diskJobs / diskBatch {
		begun := make([]onejob.Attempt, diskBatch)
		err := spread(len(begun), func(i int) (err error) {
			_, begun[i], err = jobs.Start(ctx, intent(), try)
			return err
		})
		if err == nil {
			err = spread(len(begun), func(i int) error {
				_, err := jobs.Complete(ctx, begun[i], result)
				return err
			})
		}
		if err == nil {
			err = after()
		}
		if err != nil {
			return fmt.Errorf("filling: %w", err)
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
