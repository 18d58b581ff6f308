package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/bench/duel"
)

// grown is a database that holds so many completed jobs before anything is
// measured.
type grown struct {
	size  int
	store onejob.Store
	jobs  *onejob.Jobs
	close func()
}

// key and id of a job that was filled in.
//
// Keys lie all over the index, as those of clients do: a cycle then touches a
// page of it that nobody has touched for long.
func oldKey(i int) string   { return fmt.Sprintf("%08x-%d", uint32(i*2654435761), i) }
func oldOwner(i int) string { return fmt.Sprintf("owner-%d", i%1000) }
func oldID(i int) string {
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", 0x01900000+i>>16, i&0xffff, i)
}
func (g *grown) any() int { return rand.IntN(g.size) }
func oldIntent(i int) onejob.Intent {
	return onejob.Intent{Owner: oldOwner(i), Key: oldKey(i), Kind: "charge", Params: params}
}

// pgFillFirst keeps foreign keys from being looked at row by row: what is filled
// in holds them.
const pgFillFirst = "SET LOCAL session_replication_role = replica"

// The filled rows take their fingerprint from a job that the library made.
const (
	fillPgJobs = `
INSERT INTO {p}jobs (id, owner, key, kind, target, params, opaque, fingerprint, fingerprint_version,
	state, version, created_at, ended_at, completed_by, result, result_digest)
SELECT (lpad(to_hex(26214400 + (i >> 16)), 8, '0') || '-' || lpad(to_hex(i & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
	'owner-' || i % 1000, lpad(to_hex(i::bigint * 2654435761 & 4294967295), 8, '0') || '-' || i, j.kind, j.target, j.params, j.opaque,
	j.fingerprint, j.fingerprint_version, 'completed', 2, now() - interval '30 days' + i * interval '0.1 second', now(), '800000' || lpad(to_hex(i), 10, '0'), $3::bytea, sha256($3::bytea)
FROM generate_series($1::int, $2::int - 1) i, {p}jobs j WHERE j.key = 'template'`

	fillPgAttempts = `
INSERT INTO {p}attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline, ended_at)
SELECT (lpad(to_hex(26214400 + (i >> 16)), 8, '0') || '-' || lpad(to_hex(i & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
	'800000' || lpad(to_hex(i), 10, '0'), 1, 'primary', 'succeeded', 1, md5(i::text), 60000000,
	now() - interval '30 days', now() - interval '29 days', now()
FROM generate_series($1::int, $2::int - 1) i`

	fillLiteJobs = `
INSERT INTO {p}jobs (id, owner, key, kind, target, params, opaque, fingerprint, fingerprint_version,
	state, version, created_at, ended_at, completed_by, result, result_digest)
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
SELECT printf('%08x-%04x-7000-8000-%012x', 26214400 + (i >> 16), i & 65535, i),
	'owner-' || (i % 1000), printf('%08x-%d', i * 2654435761 & 4294967295, i), j.kind, j.target, j.params, j.opaque, j.fingerprint,
	j.fingerprint_version, 'completed', 2, j.created_at - 2592000000000 + i * 100000, j.created_at, printf('800000%010x', i), ?3, j.fingerprint
FROM n, {p}jobs j WHERE j.key = 'template'`

	fillLiteAttempts = `
INSERT INTO {p}attempts (job_id, id, number, provider, state, job_version, provider_key, timeout, started_at, deadline, ended_at)
WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
SELECT printf('%08x-%04x-7000-8000-%012x', 26214400 + (i >> 16), i & 65535, i), printf('800000%010x', i), 1, 'primary',
	'succeeded', 1, printf('%032x', i), 60000000, i, i + 60000000, i + 1
FROM n`
)

// fill runs the statements for a hundred thousand jobs at a time.
func (g *grown) fill(ctx context.Context, db *sql.DB, first, jobs, attempts, prefix string) error {
	in := intent()
	in.Key = "template"
	if _, _, err := g.jobs.Create(ctx, in); err != nil {
		return err
	}
	for from := 0; from < g.size; from += 100_000 {
		to := min(from+100_000, g.size)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			text string
			args []any
		}{{first, nil}, {jobs, []any{from, to, result}}, {attempts, []any{from, to}}} {
			if step.text != "" && err == nil {
				_, err = tx.ExecContext(ctx, strings.ReplaceAll(step.text, "{p}", prefix), step.args...)
			}
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	return nil
}

func growPg(ctx context.Context, p *pg, size int) (*grown, error) {
	schema := fmt.Sprintf("grown_%d", size)
	store, err := onejob.NewPostgresStore(p.db, &onejob.PostgresOptions{Schema: schema})
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	g := &grown{size: size, store: store, jobs: onejob.New(store, nil), close: func() {
		_, _ = p.db.ExecContext(ctx, "DROP SCHEMA "+schema+" CASCADE")
	}}
	// A page of completed jobs is full: Complete has used what the fill factor
	// kept free.
	jobs := "ALTER TABLE " + schema + ".jobs "
	_, err = p.db.ExecContext(ctx, jobs+"SET (fillfactor = 100)")
	if err == nil {
		err = g.fill(ctx, p.db, pgFillFirst, fillPgJobs, fillPgAttempts, schema+".")
	}
	if err == nil {
		_, err = p.db.ExecContext(ctx, jobs+"SET (fillfactor = 80)")
	}
	return g, err
}

func growLite(ctx context.Context, dir string, size int) (*grown, error) {
	path := filepath.Join(dir, fmt.Sprintf("grown-%d.db", size))
	store, err := onejob.OpenSQLite(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	g := &grown{size: size, store: store, jobs: onejob.New(store, nil), close: func() {
		store.Close()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(path + suffix)
		}
	}}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)&_pragma=cache_size(-2000000)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return g, g.fill(ctx, db, "", fillLiteJobs, fillLiteAttempts, "onejob_")
}

// newIntent has a key that lies anywhere among the old ones.
func newIntent() onejob.Intent {
	in := intent()
	in.Owner, in.Key = oldOwner(rand.IntN(1000)), fmt.Sprintf("%08x-%s", rand.Uint32(), in.Key)
	return in
}

// steps are what is measured at each size.
func (g *grown) steps() map[string]op {
	return map[string]op{
		"Create": func(ctx context.Context, _ int) error {
			_, _, err := g.jobs.Create(ctx, newIntent())
			return err
		},
		"duplicate Create": func(ctx context.Context, _ int) error {
			_, created, err := g.jobs.Create(ctx, oldIntent(g.any()))
			if created {
				return fmt.Errorf("an old key is new")
			}
			return err
		},
		"Get": func(ctx context.Context, _ int) error {
			i := g.any()
			_, err := g.jobs.Get(ctx, oldOwner(i), onejob.JobID(oldID(i)))
			return err
		},
		"three calls": func(ctx context.Context, _ int) error {
			job, _, err := g.jobs.Create(ctx, newIntent())
			if err != nil {
				return err
			}
			a, err := g.jobs.BeginAttempt(ctx, job, try)
			if err != nil {
				return err
			}
			_, err = g.jobs.Complete(ctx, a, result)
			return err
		},
		"Start + Complete": func(ctx context.Context, _ int) error {
			_, a, err := g.jobs.Start(ctx, newIntent(), try)
			if err != nil {
				return err
			}
			_, err = g.jobs.Complete(ctx, a, result)
			return err
		},
	}
}

func growthMatch(kind, step string) match {
	return match{name: kind + ", " + step + " at growing sizes", callers: 8}
}

var growthSteps = []string{"Create", "duplicate Create", "Get", "three calls", "Start + Complete"}

// growth measures each step at each size, all sizes side by side.
func (f *field) growth(ctx context.Context, o options, tell func(match, string, ...[]*duel.Result)) error {
	sizes, rules := o.growth, o.rules.Rules
	for _, kind := range []string{"PostgreSQL", "SQLite"} {
		steps := slices.DeleteFunc(slices.Clone(growthSteps), func(step string) bool {
			return !o.filter.MatchString(growthMatch(kind, step).title())
		})
		if len(steps) == 0 {
			continue
		}
		var all []*grown
		drop := func() {
			for _, g := range all {
				g.close()
			}
			all = nil
		}
		for _, size := range sizes {
			begin := time.Now()
			var g *grown
			var err error
			if kind == "SQLite" {
				g, err = growLite(ctx, filepath.Dir(f.lite.path), size)
			} else {
				g, err = growPg(ctx, f.pg, size)
			}
			if err != nil {
				drop()
				return fmt.Errorf("%s, %d jobs: %w", kind, size, err)
			}
			all = append(all, g)
			fmt.Fprintf(os.Stderr, "%s with %d jobs in %v\n", kind, size, time.Since(begin).Round(time.Second))
		}
		if err := f.pg.vacuum(ctx); err != nil {
			return err
		}
		for _, step := range steps {
			m := growthMatch(kind, step)
			var sides []duel.Side
			for i, g := range all {
				name := fmt.Sprintf("%s at %d jobs", step, g.size)
				sides = append(sides, duel.Side{Name: name, Op: g.steps()[step]})
				if i > 0 {
					least := 0.0
					if i == len(all)-1 && step == "Start + Complete" {
						least = 1 / 1.15
					}
					m.goals = append(m.goals, goal{a: name, b: sides[0].Name, least: least})
				}
			}
			rules.Callers = m.callers
			results, err := duel.Run(ctx, rules, sides...)
			if err != nil {
				drop()
				return fmt.Errorf("%s: %w", m.name, err)
			}
			tell(m, m.title(), results)
		}
		drop()
	}
	return nil
}
