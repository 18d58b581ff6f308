package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/bench/duel"
)

// field is where the duels take place: a temporary server and a file.
type field struct {
	pg    *pg
	lite  *lite
	sides map[string]opener
	close []func()
}

// opener makes a side ready, for one match.
type opener func(ctx context.Context) (duel.Side, func(), error)

func (f *field) end() {
	for i := len(f.close) - 1; i >= 0; i-- {
		f.close[i]()
	}
}

type op = func(ctx context.Context, worker int) error

func openField(ctx context.Context) (f *field, err error) {
	f = &field{sides: map[string]opener{}}
	defer func() {
		if err != nil {
			f.end()
		}
	}()
	for _, open := range []func(context.Context) error{f.openOurs, f.openHand, f.openSlow, f.openPeers, f.openLite, f.openHTTP, f.openWatchers} {
		if err = open(ctx); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *field) side(name string, s duel.Side) {
	s.Name = name
	f.sides[name] = func(context.Context) (duel.Side, func(), error) { return s, func() {}, nil }
}

func (f *field) add(name string, do op) { f.side(name, duel.Side{Op: do}) }

// metered is add for a side on PostgreSQL, whose WAL is counted.
func (f *field) metered(name string, do op) { f.side("pg "+name, duel.Side{Op: do, Meter: f.pg.wal}) }

// peer is add for what runs in the background too, while its match lasts.
func (f *field) peer(name string, open func(ctx context.Context) (op, func(), error)) {
	f.sides[name] = func(ctx context.Context) (duel.Side, func(), error) {
		do, done, err := open(ctx)
		return duel.Side{Name: name, Op: do, Meter: f.pg.wal}, done, err
	}
}

// play has a match's sides duel.
func (f *field) play(ctx context.Context, m match, rules duel.Rules) ([]*duel.Result, error) {
	var sides []duel.Side
	for _, name := range m.sides {
		open, ok := f.sides[name]
		if !ok {
			return nil, fmt.Errorf("there is no side %q", name)
		}
		s, done, err := open(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer done()
		sides = append(sides, s)
	}
	rules.Callers, rules.Ops = m.callers, m.ops
	rules.Length *= time.Duration(max(1, m.longer))
	return duel.Run(ctx, rules, sides...)
}

func (f *field) openOurs(ctx context.Context) error {
	p, done, err := openPg(ctx)
	if err != nil {
		return err
	}
	f.pg, f.close = p, append(f.close, done)
	f.metered("Create", p.Create)
	f.metered("Start + Complete", p.Cycle)
	f.metered("three calls", p.ThreeCalls)
	same, err := p.duplicate(ctx)
	if err != nil {
		return err
	}
	f.metered("duplicate Create", same)
	f.metered("CreateMany(100)", func(ctx context.Context, _ int) error {
		in := make([]onejob.Intent, 100)
		for i := range in {
			in[i] = intent()
		}
		list, err := p.jobs.CreateMany(ctx, in)
		for i := range list {
			if err == nil && !list[i].Created {
				err = list[i].Err
			}
		}
		return err
	})
	f.metered("100 Creates", func(ctx context.Context, w int) error {
		for range 100 {
			if err := p.Create(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	if _, err := p.db.ExecContext(ctx, "CREATE TABLE receipts (job uuid PRIMARY KEY, amount bigint NOT NULL)"); err != nil {
		return err
	}
	hooked := *p
	hooked.jobs = onejob.New(p.store, &onejob.Options{OnComplete: func(ctx context.Context, tx *sql.Tx, job onejob.Job) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO receipts VALUES ($1, $2)", string(job.ID), 1299)
		return err
	}})
	f.metered("Start + Complete with OnComplete", hooked.Cycle)
	return nil
}

func (f *field) openHand(ctx context.Context) error {
	h, err := openHandPg(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	n, err := openNaive(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { h.db.Close() }, func() { n.db.Close() })
	same, err := openSamePg(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { same.db.Close() })
	f.metered("the same Create", same.Create)
	f.metered("the same Start + Complete", same.Cycle)
	f.metered("the same transaction", same.CycleInTx)
	twin, err := openHandPg(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { twin.db.Close() })
	f.metered("Create by hand", h.Create)
	f.metered("Create by the same hand", twin.Create)
	f.metered("Create naive", n.Create)
	f.metered("Start + Complete by hand", h.Cycle)
	f.metered("three transactions", n.Cycle)
	f.metered("two bare commits", bare(h.db))
	f.metered("the same transaction by hand", h.CycleInTx)
	if err := f.openStorms(ctx, h); err != nil {
		return err
	}
	if err := f.openRefused(ctx); err != nil {
		return err
	}
	return f.openSteps(ctx, h, same)
}

// bare are two commits of one small row each: the physical limit.
func bare(db *sql.DB) op {
	if _, err := db.Exec("CREATE TABLE bare (id bigint PRIMARY KEY, n bigint NOT NULL)"); err != nil {
		panic(err)
	}
	insert, err := db.Prepare("INSERT INTO bare VALUES ($1, 0)")
	if err != nil {
		panic(err)
	}
	update, err := db.Prepare("UPDATE bare SET n = n + 1 WHERE id = $1")
	if err != nil {
		panic(err)
	}
	var serial atomic.Int64
	return func(ctx context.Context, _ int) error {
		id := serial.Add(1)
		if _, err := insert.ExecContext(ctx, id); err != nil {
			return err
		}
		_, err := update.ExecContext(ctx, id)
		return err
	}
}

func (f *field) openPeers(ctx context.Context) error {
	pool, err := riverPool(ctx, f.pg.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	f.close = append(f.close, pool.Close)
	for name, workers := range map[string]int{"River": 100, "River, 2,000 workers": 2000} {
		for _, flow := range []bool{false, true} {
			name := name
			if flow {
				name += ", 2,000 in flight"
			}
			f.sides[name] = func(ctx context.Context) (duel.Side, func(), error) {
				r, done, err := openRiver(ctx, riverpgxv5.New(pool), workers, flow)
				if err != nil {
					return duel.Side{}, nil, err
				}
				s := duel.Side{Name: name, Op: r.Cycle, Meter: f.pg.wal}
				if flow {
					s.Op, s.After = r.Flow, r.Drain
				}
				return s, done, nil
			}
		}
	}
	inserter, _, err := openRiver(ctx, riverpgxv5.New(pool), 0, false)
	if err != nil {
		return err
	}
	f.side("River insert (pgx)", duel.Side{Op: inserter.Insert, Meter: f.pg.wal})
	f.side("River unique insert", duel.Side{Op: inserter.InsertUnique, Meter: f.pg.wal})
	f.side("River unique, one key", duel.Side{Op: inserter.InsertSame, Meter: f.pg.wal})
	overSQL, _, err := openRiver(ctx, riverOverSQL(f.pg.db), 0, false)
	if err != nil {
		return err
	}
	f.side("River insert (database/sql)", duel.Side{Op: overSQL.Insert, Meter: f.pg.wal})
	f.side("River unique insert (database/sql)", duel.Side{Op: overSQL.InsertUnique, Meter: f.pg.wal})
	f.peer("River (database/sql)", func(ctx context.Context) (op, func(), error) {
		r, done, err := openRiver(ctx, riverOverSQL(f.pg.db), 100, false)
		if err != nil {
			return nil, nil, err
		}
		return r.Cycle, done, nil
	})
	for name, do := range map[string]func(*dbosPeer) op{
		"DBOS":                func(p *dbosPeer) op { return p.Cycle },
		"DBOS, a finished ID": func(p *dbosPeer) op { return p.Same },
	} {
		f.peer(name, func(ctx context.Context) (op, func(), error) {
			p, done, err := openDBOS(ctx, f.pg.cluster.DSN("postgres"))
			if err != nil {
				return nil, nil, err
			}
			return do(p), done, nil
		})
	}
	return nil
}

func (f *field) openLite(ctx context.Context) error {
	l, done, err := openLite(ctx)
	if err != nil {
		return err
	}
	f.lite, f.close = l, append(f.close, done)
	f.add("lite Create", l.Create)
	f.add("lite Start + Complete", l.Cycle)
	for suffix, synchronous := range map[string]string{"": "FULL", ", NORMAL": "NORMAL"} {
		h, err := openHandLite(ctx, l.path, synchronous)
		if err != nil {
			return err
		}
		f.close = append(f.close, h.close)
		f.add("lite Create per call"+suffix, h.Create)
		f.add("lite three calls per call"+suffix, h.Cycle)
		f.add("lite two calls per call"+suffix, h.Cycle2)
	}
	g, err := openGoqite(ctx, filepath.Dir(l.path))
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { g.db.Close() })
	f.add("goqite", g.Cycle)
	return nil
}
