package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/lib/pq" // the driver

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

// pg is a temporary server as it comes, with the library's tables.
type pg struct {
	cluster *dbtest.Cluster
	db      *sql.DB
	store   *onejob.PostgresStore
	jobs    *onejob.Jobs
}

// poolSize is for 32 callers, with a few to spare.
const poolSize = 40

func pgPool(dsn string, size int) (*sql.DB, error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

func openPg(ctx context.Context) (p *pg, done func(), err error) {
	cluster, err := dbtest.Start("max_connections=400")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			cluster.Stop()
		}
	}()
	p = &pg{cluster: cluster}
	if p.db, err = pgPool(cluster.DSN("postgres"), poolSize); err != nil {
		return nil, nil, err
	}
	if p.store, err = onejob.NewPostgresStore(p.db, nil); err != nil {
		return nil, nil, err
	}
	if err = p.store.Migrate(ctx); err != nil {
		return nil, nil, err
	}
	p.jobs = onejob.New(p.store, nil)
	// A plan that PostgreSQL keeps from when the tables had one page walks them
	// whole, the library's and the hand's alike, until autovacuum has counted.
	if err = p.prefill(ctx); err != nil {
		return nil, nil, err
	}
	if err = p.vacuum(ctx); err != nil {
		return nil, nil, err
	}
	return p, func() {
		p.db.Close()
		cluster.Stop()
	}, nil
}

// prefill makes 50,000 open jobs, each with an attempt that has failed: rows as
// wide as those that are made later, so that no page is left with room for one,
// which would cost an image of that page after each checkpoint.
func (p *pg) prefill(ctx context.Context) error {
	in := make([]onejob.Intent, 1000)
	for range 50 {
		for i := range in {
			in[i] = intent()
		}
		if _, err := p.jobs.CreateMany(ctx, in); err != nil {
			return err
		}
	}
	_, err := p.db.ExecContext(ctx, `
INSERT INTO onejob.attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline, ended_at)
SELECT id, substring(id::text FROM 20 FOR 4) || substring(id::text FROM 25), 1, 'primary', 'failed', 1, md5(id::text), 60000000, now(), now(), now()
FROM onejob.jobs`)
	return err
}

// wal is how much the server has written to its log.
func (p *pg) wal() (n int64, err error) {
	err = p.db.QueryRow("SELECT pg_current_wal_insert_lsn() - '0/0'").Scan(&n)
	return n, err
}

func (p *pg) vacuum(ctx context.Context) error {
	_, err := p.db.ExecContext(ctx, "VACUUM ANALYZE")
	if err == nil {
		_, err = p.db.ExecContext(ctx, "CHECKPOINT")
	}
	return err
}

func (p *pg) Create(ctx context.Context, _ int) error {
	_, _, err := p.jobs.Create(ctx, intent())
	return err
}

func (p *pg) Cycle(ctx context.Context, _ int) error {
	_, a, err := p.jobs.Start(ctx, intent(), try)
	if err != nil {
		return err
	}
	_, err = p.jobs.Complete(ctx, a, result)
	return err
}

// ThreeCalls is a cycle of Create, BeginAttempt and Complete.
func (p *pg) ThreeCalls(ctx context.Context, _ int) error {
	job, _, err := p.jobs.Create(ctx, intent())
	if err != nil {
		return err
	}
	a, err := p.jobs.BeginAttempt(ctx, job, try)
	if err != nil {
		return err
	}
	_, err = p.jobs.Complete(ctx, a, result)
	return err
}

// duplicate returns an operation that finds the job of one key.
func (p *pg) duplicate(ctx context.Context) (func(context.Context, int) error, error) {
	in := intent()
	first, _, err := p.jobs.Create(ctx, in)
	return func(ctx context.Context, _ int) error {
		job, _, err := p.jobs.Create(ctx, in)
		if err == nil && job.ID != first.ID {
			err = fmt.Errorf("two IDs")
		}
		return err
	}, err
}
