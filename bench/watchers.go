package main

import (
	"context"
	"sync/atomic"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/pgnotify"
)

// counting is an observer that does as little as one can.
type counting struct{ changed atomic.Int64 }

func (c *counting) Observe(ctx context.Context, _ string) (context.Context, func(onejob.Observation)) {
	return ctx, func(o onejob.Observation) {
		if o.Changed {
			c.changed.Add(1)
		}
	}
}

// openWatchers puts the cycle with an observer, and with a notifier that tells
// of each job, beside the one without.
func (f *field) openWatchers(context.Context) error {
	notifier, err := pgnotify.Open(f.pg.cluster.DSN("postgres"), f.pg.db, nil)
	if err != nil {
		return err
	}
	f.close = append(f.close, func() { notifier.Close() })
	with := func(o onejob.Options) op {
		watched := *f.pg
		watched.jobs = onejob.New(f.pg.store, &o)
		return watched.Cycle
	}
	f.metered("Start + Complete, observed", with(onejob.Options{Observer: &counting{}}))
	f.metered("Start + Complete, told", with(onejob.Options{Notifier: notifier}))
	return nil
}

// watcherMatches say what it costs to be heard.
func watcherMatches() (list []match) {
	for _, n := range []int{1, 32} {
		list = append(list, match{"Start + Complete with an observer, with a notifier", n,
			[]string{"pg Start + Complete", "pg Start + Complete, observed", "pg Start + Complete, told"},
			[]goal{{a: "pg Start + Complete, observed", b: "pg Start + Complete"}, {a: "pg Start + Complete, told", b: "pg Start + Complete"}}, 0, 0})
	}
	return list
}
