package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type riverArgs struct {
	Key    string `json:"key" river:"unique"`
	Params string `json:"params"`
}

func (riverArgs) Kind() string { return "charge" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
}

func (riverWorker) Work(context.Context, *river.Job[riverArgs]) error { return nil }

// riverPeer inserts jobs, and hears when they were worked where it has workers.
type riverPeer[TTx any] struct {
	client *river.Client[TTx]
	queue  string
	mu     sync.Mutex
	done   map[int64]chan struct{} // closed once the job is completed
	flying chan struct{}           // a place for each job of Flow's
}

// inFlight is how many jobs Flow has under way at most.
const inFlight = 2000

// openRiver starts a client with a queue of its own, so that it hears the end of
// each of its jobs; workers 0 inserts only.
func openRiver[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], workers int, flow bool) (*riverPeer[TTx], func(), error) {
	queue := fmt.Sprintf("q%d", serial.Add(1))
	config := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	if workers > 0 {
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, &riverWorker{})
		config.Queues = map[string]river.QueueConfig{queue: {MaxWorkers: workers}}
	}
	client, err := river.NewClient(driver, config)
	if err != nil {
		return nil, nil, err
	}
	p := &riverPeer[TTx]{client: client, queue: queue, done: map[int64]chan struct{}{}}
	if flow {
		p.flying = make(chan struct{}, inFlight)
	}
	if workers == 0 {
		return p, func() {}, nil
	}
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 100_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	go func() {
		for e := range events {
			if p.flying != nil {
				<-p.flying
			} else {
				close(p.of(e.Job.ID))
			}
		}
	}()
	if err := client.Start(ctx); err != nil {
		cancel()
		return nil, nil, err
	}
	return p, func() {
		_ = client.StopAndCancel(ctx)
		cancel()
	}, nil
}

// of is the channel of a job: whoever comes first makes it, the inserter or
// the event.
func (p *riverPeer[TTx]) of(id int64) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.done[id]
	if ok {
		delete(p.done, id) // the second to come has it
		return c
	}
	c = make(chan struct{})
	p.done[id] = c
	return c
}

func (p *riverPeer[TTx]) Insert(ctx context.Context, _ int) error {
	_, err := p.client.Insert(ctx, riverArgs{key(), string(params)}, nil)
	return err
}

func (p *riverPeer[TTx]) InsertUnique(ctx context.Context, _ int) error {
	_, err := p.client.Insert(ctx, riverArgs{key(), string(params)}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	return err
}

// InsertSame finds the job of one key.
func (p *riverPeer[TTx]) InsertSame(ctx context.Context, _ int) error {
	_, err := p.client.Insert(ctx, riverArgs{"hot", string(params)}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	return err
}

// Cycle inserts a job and waits until it was worked.
func (p *riverPeer[TTx]) Cycle(ctx context.Context, _ int) error {
	res, err := p.client.Insert(ctx, riverArgs{key(), string(params)}, &river.InsertOpts{Queue: p.queue})
	if err != nil {
		return err
	}
	select {
	case <-p.of(res.Job.ID):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flow inserts a job and goes on to the next, with inFlight of them under way: a
// queue is not made for a caller who waits for each.
func (p *riverPeer[TTx]) Flow(ctx context.Context, _ int) error {
	select {
	case p.flying <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := p.client.Insert(ctx, riverArgs{key(), string(params)}, &river.InsertOpts{Queue: p.queue})
	return err
}

// Drain waits until all of Flow's jobs are completed.
func (p *riverPeer[TTx]) Drain(ctx context.Context) error {
	for len(p.flying) > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func pgxPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	config.MinConns = poolSize
	return pgxpool.NewWithConfig(ctx, config)
}

func riverPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	pool, err := pgxPool(ctx, dsn)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return pool, err
}

func riverOverSQL(db *sql.DB) riverdriver.Driver[*sql.Tx] { return riverdatabasesql.New(db) }
