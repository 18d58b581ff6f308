package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

// dbosPeer runs a workflow of one step.
type dbosPeer struct{ ctx dbos.Context }

func dbosWorkflow(ctx dbos.Context, in string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return string(result), nil })
}

func openDBOS(ctx context.Context, dsn string) (*dbosPeer, func(), error) {
	pool, err := pgxPool(ctx, dsn) // Shutdown closes it
	if err != nil {
		return nil, nil, err
	}
	c, err := dbos.NewContext(ctx, dbos.Config{
		AppName: "onejob-bench", SystemDBPool: pool, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, err
	}
	dbos.RegisterWorkflow(c, dbosWorkflow)
	if err := dbos.Launch(c); err != nil {
		return nil, nil, err
	}
	return &dbosPeer{c}, func() { _ = dbos.Shutdown(c, 5*time.Second) }, nil
}

func (p *dbosPeer) run(id string) error {
	handle, err := dbos.RunWorkflow(p.ctx, dbosWorkflow, string(params), dbos.WithWorkflowID(id))
	if err != nil {
		return err
	}
	_, err = handle.GetResult()
	return err
}

func (p *dbosPeer) Cycle(context.Context, int) error { return p.run(key()) }

// Same asks for the result of a workflow that is finished.
func (p *dbosPeer) Same(context.Context, int) error { return p.run("hot") }
